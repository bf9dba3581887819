import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export interface DelayProxyOptions {
  /** Port of the server on 127.0.0.1. */
  readonly port: number
  /** Delay in each direction. */
  readonly delayMs: number
}

export interface DelayProxy {
  readonly port: number
  /** Returns how often a client has sent data after an answer, on all connections so far. */
  roundTrips(): number
  stop(): Promise<void>
}

export type DelayProxyData = DelayProxyOptions & { readonly counter: SharedArrayBuffer }

/** Starts a proxy in its own thread that delays all data. */
export async function startDelayProxy(options: DelayProxyOptions): Promise<DelayProxy> {
  const counter = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const worker = new Worker(new URL('delay-proxy-thread.ts', import.meta.url), {
    workerData: { ...options, counter } satisfies DelayProxyData,
  })
  const [port] = (await once(worker, 'message')) as [number]
  return {
    port,
    roundTrips: () => Atomics.load(new Int32Array(counter), 0),
    async stop() {
      await worker.terminate()
    },
  }
}
