import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export interface DelayProxyOptions {
  /** Of the server on 127.0.0.1. */
  readonly port: number
  /** Each way. */
  readonly delayMs: number
}

export interface DelayProxy {
  readonly port: number
  /** How often a client has sent something after an answer, on all connections so far. */
  roundTrips(): number
  stop(): Promise<void>
}

export type DelayProxyData = DelayProxyOptions & { readonly counter: SharedArrayBuffer }

/** Starts a proxy in a thread of its own, through which everything arrives later. */
export async function startDelayProxy(options: DelayProxyOptions): Promise<DelayProxy> {
  const counter = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const worker = new Worker(new URL('delay-proxy-thread.ts', import.meta.url), { workerData: { ...options, counter } satisfies DelayProxyData })
  const [port] = (await once(worker, 'message')) as [number]
  return {
    port,
    roundTrips: () => Atomics.load(new Int32Array(counter), 0),
    async stop() {
      await worker.terminate()
    },
  }
}
