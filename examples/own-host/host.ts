import { Queue, Worker, type ConnectionOptions } from 'bullmq'
import type { Runtime, Wake } from '@bowline/sessions'

export interface BullHostOptions {
  readonly connection: ConnectionOptions
  /** Name of the queue. Default `sessions`. */
  readonly name?: string
  /** A run yields at its next boundary after this time, so that other sessions get their turn. Default 50 seconds. */
  readonly turnMs?: number
  /** A worker that is silent for so long is given up. Default 30 seconds. */
  readonly frozenAfterMs?: number
  readonly onError?: (error: Error) => void
}

interface Visit {
  readonly key: string
}

export interface BullHost {
  /** Begins to work in this process. */
  work(): Worker<Visit>
  /** Ends the runtime of this process: its runs yield at their next boundary and go on in another one. */
  stop(): Promise<void>
}

// A job that fails for good would leave its session alone, so it is tried for ever. The runtime ends runs that always fail.
const forEver = 2 ** 31
const defaultJobOptions = {
  attempts: forEver,
  backoff: { type: 'fixed', delay: 1000 },
  removeOnComplete: true,
  removeOnFail: true,
}

/** Lets BullMQ decide which process works on which session of a runtime with placement `host`. Call it before the runtime starts. */
export function bullHost(runtime: Runtime, options: BullHostOptions): BullHost {
  const { connection, name = 'sessions', turnMs = 50_000, frozenAfterMs = 30_000, onError = console.error } = options
  const queue = new Queue<Visit>(name, { connection, defaultJobOptions }).on('error', onError)
  const stopping = new AbortController()
  let worker: Worker<Visit> | undefined

  /**
   * A session has at most one job `work` that waits and one that is active. BullMQ drops a wake if a job waits, since that one will
   * see the work. It keeps the wake if the job is active, which may have looked too early. At its time an alarm wakes the session.
   */
  async function wake({ key = '', atMs }: Wake): Promise<void> {
    const delay = Math.max(0, atMs - Date.now())
    const [kind, id] = delay === 0 ? ['work', `work ${key}`] : ['alarm', `${atMs} ${key}`]
    await queue.add(kind, { key }, { delay, deduplication: { id, keepLastIfActive: true } })
  }
  runtime.onWake(wake)

  return {
    work() {
      const limits = { lockDuration: frozenAfterMs / 2, stalledInterval: frozenAfterMs / 2, maxStalledCount: forEver }
      worker = new Worker<Visit>(
        name,
        async ({ name: kind, data: { key } }) => {
          if (kind === 'alarm') return wake({ key, atMs: Date.now() })
          // Without `takeOver`: BullMQ gives a job of a frozen worker to another one, and the frozen one may go on.
          const { nextDueAt } = await runtime.work(key, { untilMs: Date.now() + turnMs, abortSignal: stopping.signal })
          if (nextDueAt !== null) await wake({ key, atMs: nextDueAt })
        },
        { connection, concurrency: 32, ...limits },
      ).on('error', onError)
      return worker
    },
    async stop() {
      stopping.abort()
      await worker?.close()
      await runtime.stop()
      await queue.close()
    },
  }
}
