import type { Clock } from '@bowline/llm'
import type { RunRecord } from '../contract/records.ts'
import { firstInLine, isHolding, isWaiting } from '../contract/run-status.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { SessionError, warnProcess } from '../errors.ts'
import type { LiveLog, LiveSession } from '../log/live-log.ts'
import { pollMs } from '../log/read-pace.ts'
import { needOf } from './inspect/next-of-run.ts'
import { isAtRest, openRuns, toRunInfo } from './views.ts'

export interface WatchContext {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
}

/** Returns true if the wait for the run is over. */
export type IsOver = (run: RunRecord) => boolean | Promise<boolean>

interface Waiter extends PromiseWithResolvers<RunRecord> {
  readonly isOver: IsOver
  readonly signal: AbortSignal | undefined
  isSettled: boolean
}

interface WatchedRun {
  readonly id: string
  readonly waiters: Set<Waiter>
  /** The run as it was read last. */
  last?: RunRecord
  reading: Promise<void> | undefined
  /** True if the run may have changed since the present read began. */
  isStale: boolean
}

export async function readRun(store: SessionStore, runId: string): Promise<RunRecord> {
  const read = await store.readRun(runId)
  if (read.status === 'missing') throw unknownRun(runId)
  return read.value
}

export function unknownRun(runId: string): SessionError {
  return new SessionError('unknown-run', `This session has no run ${runId}. Take the id from runs().`)
}

const watches = new WeakMap<LiveSession, RestWatch>()
/** One log per runtime. */
const warned = new WeakSet<LiveLog>()

/** Returns the watch of a session. All that wait in this process for runs of the session share it. */
export function restWatch(context: WatchContext, key: string): RestWatch {
  const session = context.live.session(key)
  const watch = watches.get(session) ?? new RestWatch(context, key)
  watches.set(session, watch)
  return watch
}

/** Reads the runs of one session for all that wait for them. A change costs one read, however many wait. */
class RestWatch {
  readonly #context: WatchContext
  readonly #key: string
  readonly #runs = new Map<string, WatchedRun>()
  #looking: Promise<void> | undefined
  #stop: (() => void) | undefined

  constructor(context: WatchContext, key: string) {
    this.#context = context
    this.#key = key
  }

  /** Resolves with the run when `isOver` returns true for it, or in its present state when the signal is aborted. */
  wait(runId: string, isOver: IsOver, signal?: AbortSignal): Promise<RunRecord> {
    return this.#add(runId, isOver, signal).waiter.promise
  }

  /** Returns a check whether `isOver` has returned true for the run. It waits for the reads under way, and reads nothing itself. */
  follow(runId: string, isOver: IsOver, signal: AbortSignal): () => Promise<RunRecord | undefined> {
    const { run, waiter } = this.#add(runId, isOver, signal)
    return async () => {
      await Promise.all([this.#looking, run.reading])
      return waiter.isSettled ? waiter.promise : undefined
    }
  }

  #add(runId: string, isOver: IsOver, signal: AbortSignal | undefined): { readonly run: WatchedRun; readonly waiter: Waiter } {
    const run = this.#runs.get(runId) ?? { id: runId, waiters: new Set(), reading: undefined, isStale: false }
    const waiter: Waiter = { ...Promise.withResolvers<RunRecord>(), isOver, signal, isSettled: false }
    const look = (): void => void this.#read(run)
    this.#runs.set(runId, run)
    run.waiters.add(waiter)
    // Watches before the first read, so that no change is missed.
    this.#stop ??= this.#start()
    signal?.addEventListener('abort', look)
    waiter.promise.finally(() => signal?.removeEventListener('abort', look)).catch(() => undefined)
    look()
    return { run, waiter }
  }

  #start(): () => void {
    const { live, clock } = this.#context
    let cancelTimer: () => void
    const arm = (): void => {
      const poll = (): void => {
        arm()
        void this.#readAll()
      }
      cancelTimer = clock.setTimer(clock.now() + pollMs, poll, { hold: true })
    }
    const letGo = live.hold(this.#key, (runIds) => {
      if (!runIds) return void (this.#looking = this.#readFirst())
      for (const run of runIds.map((id) => this.#runs.get(id))) if (run) void this.#read(run)
    })
    arm()
    return () => {
      letGo()
      cancelTimer()
    }
  }

  /** Reads the first run in line, and the next one if the wait for the first is over: the runs of a session end one after the other. */
  async #readFirst(): Promise<void> {
    for (let first = this.#first(); first; first = this.#first()) {
      await this.#read(first)
      if (first.waiters.size > 0) return
    }
  }

  #first(): WatchedRun | undefined {
    const placeOf = ({ last }: WatchedRun): number => (last ? (isHolding(last.status) ? -Infinity : last.place) : Infinity)
    return [...this.#runs.values()].reduce<WatchedRun | undefined>(
      (first, run) => (first && placeOf(first) <= placeOf(run) ? first : run),
      undefined,
    )
  }

  /** Reads a run again until it has not changed during the read. */
  #read(run: WatchedRun): Promise<void> {
    run.isStale = true
    return (run.reading ??= this.#readOn(run))
  }

  async #readOn(run: WatchedRun): Promise<void> {
    while (run.isStale && run.waiters.size > 0) {
      run.isStale = false
      // Later waiters need a later read.
      const waiters = [...run.waiters]
      await readRun(this.#context.store, run.id).then(
        (found) => this.#answer(run, waiters, found),
        (error: unknown) => this.#settle(run, waiters, ({ reject }) => reject(error)),
      )
    }
    run.reading = undefined
  }

  /** Reads the open runs in one call: other processes may end some out of order or without a notification. */
  async #readAll(): Promise<void> {
    const watched = [...this.#runs.values()].map((run) => ({ run, waiters: [...run.waiters] }))
    if (watched.length === 1 && watched[0]?.run.last?.status !== 'queued') return this.#readFirst()
    try {
      const open = new Map((await openRuns(this.#context.store, this.#key)).map((run) => [run.id, run]))
      await this.#warnOfDecision([...open.values()])
      for (const { run, waiters } of watched) {
        const found = open.get(run.id)
        void (found ? this.#answer(run, waiters, found) : this.#read(run))
      }
    } catch (error) {
      for (const { run, waiters } of watched) this.#settle(run, waiters, ({ reject }) => reject(error))
    }
  }

  /** Warns once per runtime of a queued run for which a caller waits, and that cannot start before another run is answered. */
  async #warnOfDecision(open: readonly RunRecord[]): Promise<void> {
    const { store, live } = this.#context
    const first = firstInLine(open)
    const waits = open.find(({ id, status }) => status === 'queued' && this.#runs.has(id))
    if (!first || !waits || !isWaiting(first.status) || !(await isAtRest(store, first)) || warned.has(live)) return
    warned.add(live)
    const need = needOf(first, await toRunInfo(store, first))
    warnProcess(
      `The run ${waits.id} of the session ${this.#key} waits behind the run ${first.id}. ${need} See behind(). This warning comes once.`,
    )
  }

  async #answer(run: WatchedRun, waiters: readonly Waiter[], found: RunRecord): Promise<void> {
    run.last = found
    await Promise.all(
      waiters.map(async (waiter) => {
        try {
          const isOver = (await waiter.isOver(found)) || waiter.signal?.aborted
          if (isOver) this.#settle(run, [waiter], ({ resolve }) => resolve(found))
        } catch (error) {
          this.#settle(run, [waiter], ({ reject }) => reject(error))
        }
      }),
    )
  }

  #settle(run: WatchedRun, waiters: readonly Waiter[], settle: (waiter: Waiter) => void): void {
    for (const waiter of waiters) {
      run.waiters.delete(waiter)
      waiter.isSettled = true
      settle(waiter)
    }
    if (run.waiters.size === 0 && this.#runs.get(run.id) === run) this.#runs.delete(run.id)
    if (this.#runs.size > 0) return
    this.#stop?.()
    this.#stop = undefined
  }
}
