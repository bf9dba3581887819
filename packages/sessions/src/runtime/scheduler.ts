import type { Clock } from '@bowline/llm'
import type { IdSource } from '@bowline/agent-loop'
import { isWaiting } from '../contract/run-status.ts'
import type { Expect } from '../contract/batch.ts'
import type { DueReport, SessionStore } from '../contract/session-store.ts'
import type { SessionRecord, TimerRecord } from '../contract/records.ts'
import type { ErrorContext, Retention, SweepReport } from './types.ts'

export interface SchedulerOptions {
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: IdSource
  readonly retention: Required<Retention>
  /** If false, nothing is scheduled automatically. */
  readonly hasTimers: boolean
  /** Called with the time at which the host must call `drain()`. Undefined: the host need not be told. */
  readonly onDue: ((atMs: number) => void) | undefined
  /** Called with a session whose run can be claimed. Undefined: the loop finds it. Must not reject. */
  readonly onLeft: ((key: string) => Promise<void>) | undefined
  /** Must not throw. */
  readonly onError: (error: unknown, where: ErrorContext) => void
  /** Called with the time at which notices are due. */
  readonly onNotices: (atMs: number) => void
  /** Minimum time in ms for which a pending notice is kept. */
  readonly noticesMs: number
  /** Called if there is work to claim. */
  readonly wake: () => void
  readonly announce: (key: string) => void
  readonly expire: (key: string) => Promise<unknown>
  /** Returns sessions that expired before this time. */
  readonly expiredBefore: (atMs: number) => Promise<readonly Lived[]>
  /** Deletes the session and all sessions below it. */
  readonly remove: (session: Lived) => Promise<unknown>
  readonly startOrphanedInputs: (key: string) => Promise<void>
  readonly fireSchedule: (timer: TimerRecord) => Promise<Fired>
  /** Deletes incomplete copies that dead processes left. */
  readonly removeAbandonedCopies: () => Promise<void>
}

/** One incarnation of a session. A later session under the same key is another one. */
type Lived = Pick<SessionRecord, 'key' | 'id'>

type Due = Pick<DueReport, 'timers' | 'expired' | 'unread'>

/** `kept`: the timer changed meanwhile and is left for the next sweep. */
type Fired = 'fired' | 'dropped' | 'kept'

/** Number of timers that fire concurrently. Each waits for a disk write of the store, and concurrent ones share it. */
const lanes = 16
const sweepMs = 30_000
const pruneMs = 3_600_000
const batchSize = 100
/** Pages of sessions with a run to claim that one sweep tells of: hosts are told again of what they could not begin. */
const pagesPerSweep = 10
/** Time in ms after which a sweep tells of no further page: its host is slow. */
const tellingMs = 10_000

/** Runs all actions that are due at a time, with one timer of the process for the earliest time in the store. */
export class Scheduler {
  readonly #options: SchedulerOptions
  #cancel: (() => void) | undefined
  #armedFor = Infinity
  /** Earliest time that the host was told since the last sweep. */
  #toldFor = Infinity
  #isOn = false
  #looking: Promise<SweepReport> | undefined
  #prunedAt = -Infinity
  /** Prunes that failed in a row. */
  #failedPrunes = 0
  /** Time at which to retry what the last sweep could not do. */
  #retryAt = -Infinity
  /** Page of sessions with a run to claim of which the next sweep tells first. */
  #leftPage: string | undefined

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  /** Starts the sweeps. Without timers the host calls them. */
  start(): void {
    this.#isOn = this.#options.hasTimers
    this.#look()
  }

  async stop(): Promise<void> {
    this.#isOn = false
    this.#cancel?.()
    this.#armedFor = Infinity
    await this.#looking?.catch(() => undefined)
  }

  /** Resolves with the time of the next due action. Actions that the last sweep could not do are due again after `sweepMs`. */
  async nextDueAt(): Promise<number | null> {
    const { store, clock } = this.#options
    const { nextAt, noticesAt } = await store.due(0)
    if (noticesAt !== undefined) this.#options.onNotices(noticesAt)
    const now = clock.now()
    if (nextAt === null || nextAt > now || this.#retryAt <= now) return nextAt
    // Limits the retry time, because the clock may have been set back.
    return Math.min(this.#retryAt, now + sweepMs)
  }

  /** Reads the next due time, arms the timer and tells the host. With `isWorkLeft` the host is told the present time. */
  async refresh(isWorkLeft = false): Promise<void> {
    const nextAt = await this.nextDueAt()
    if (nextAt !== null) this.#arm(nextAt)
    if (isWorkLeft) this.tellHost(this.#options.clock.now())
    else if (nextAt !== null) this.tellHost(nextAt)
  }

  /** Arms the timer for this time and tells the host. */
  schedule(atMs: number): void {
    this.#arm(atMs)
    this.tellHost(atMs)
  }

  /** Tells the host the earliest due time. */
  tellHost(atMs: number): void {
    const { onDue, clock, hasTimers } = this.#options
    if (!onDue) return
    // With timers, work that is due now starts without the host. Without timers, the host is told the earliest time until it
    // comes.
    const before = hasTimers && this.#toldFor <= clock.now() ? Infinity : this.#toldFor
    this.#toldFor = Math.min(before, atMs)
    onDue(this.#toldFor)
  }

  /** Does everything that is due, including work without a hint, and deletes records past their retention. */
  async sweep(): Promise<SweepReport> {
    // Sweeps run one after the other, so that nothing is done twice.
    const before = this.#looking
    const sweep = (async () => {
      await before?.catch(() => undefined)
      return this.#sweep()
    })()
    this.#looking = sweep
    try {
      return await sweep
    } finally {
      if (this.#looking === sweep) this.#looking = undefined
    }
  }

  async #sweep(): Promise<SweepReport> {
    const { store, clock, onNotices } = this.#options
    const done = { timers: 0, expired: 0, started: 0 }
    this.#toldFor = Infinity
    for (;;) {
      const due = await store.due(batchSize)
      if (due.noticesAt !== undefined) onNotices(due.noticesAt)
      const { fired, expired, started } = await this.#do(due)
      done.timers += fired.filter((what) => what === 'fired').length
      done.expired += expired
      done.started += started
      // Due timers hide later ones, so read again. A timer that was kept is left for the next sweep.
      if (fired.some((what) => what !== 'kept') || expired > 0) continue
      await this.#tellLeft()
      // Takes the absolute value, because the last time is in the future if the clock was set back.
      const pauseMs = this.#failedPrunes === 0 ? pruneMs : Math.min(pruneMs, sweepMs * 2 ** (this.#failedPrunes - 1))
      const pruned = Math.abs(clock.now() - this.#prunedAt) >= pauseMs ? await this.#prune() : nothingPruned
      const isLeft = due.timers.length + due.expired.length > 0
      this.#retryAt = isLeft ? clock.now() + sweepMs : -Infinity
      return { ...done, pruned, nextDueAt: isLeft ? this.#retryAt : due.nextAt }
    }
  }

  /** Tells of sessions with a run to claim, after those of which the last sweep told: some may never be claimed, and keep their place. */
  async #tellLeft(): Promise<void> {
    const { store, clock, onLeft } = this.#options
    if (!onLeft) return
    const beganAt = clock.now()
    for (let pages = 0; pages < pagesPerSweep && clock.now() - beganAt < tellingMs; pages++) {
      const page = this.#leftPage
      const { items, next } = await store.listClaimable({ limit: batchSize, ...(page !== undefined && { page }) })
      await Promise.all(items.map(onLeft))
      this.#leftPage = next
      if (next === undefined) return
    }
  }

  /** Does what is due in one session. Resolves with true if anything changed. */
  async sweepSession(due: Due): Promise<boolean> {
    const { fired, expired, started } = await this.#do(due)
    return fired.some((what) => what !== 'kept') || expired + started > 0
  }

  async #do({
    timers,
    expired,
    unread,
  }: Due): Promise<{ readonly fired: readonly Fired[]; readonly expired: number; readonly started: number }> {
    const { expire, startOrphanedInputs } = this.#options
    const fired = await this.#each(
      timers,
      (timer) => timer.session,
      (timer) => this.#fire(timer),
      lanes,
    )
    const ended = await this.#each(expired, String, expire)
    const started = await this.#each(unread, String, startOrphanedInputs)
    return { fired, expired: ended.length, started: started.length }
  }

  /** Runs each item. Reports errors and continues with the others. Returns the results of the items that succeeded. */
  async #each<T, R>(items: readonly T[], sessionOf: (item: T) => string, run: (item: T) => Promise<R>, atOnce = 1): Promise<readonly R[]> {
    const results: R[] = []
    const left = items.values()
    const lane = async (): Promise<void> => {
      for (const item of left) {
        try {
          results.push(await run(item))
        } catch (error) {
          this.#options.onError(error, { during: 'sweep', session: sessionOf(item) })
        }
      }
    }
    await Promise.all(Array.from({ length: atOnce }, lane))
    return results
  }

  async #prune(): Promise<SweepReport['pruned']> {
    const { store, clock, retention, noticesMs, removeAbandonedCopies, expiredBefore, remove } = this.#options
    const now = clock.now()
    this.#prunedAt = now
    this.#failedPrunes += 1
    await removeAbandonedCopies()
    const expired = await expiredBefore(now - retention.expiredMs)
    const removed = await this.#each(expired, ({ key }) => key, remove)
    let total = { ...nothingPruned, sessions: removed.length }
    for (;;) {
      const step = await store.prune({ runsEndedBefore: now - retention.runsMs, noticesQueuedBefore: now - noticesMs }, batchSize)
      total = { ...total, runs: total.runs + step.runs, events: total.events + step.events, more: step.more }
      if (step.more) continue
      if (removed.length === expired.length) this.#failedPrunes = 0
      return total
    }
  }

  /** Fires a timer. The effect and the removal of the timer are one commit. */
  async #fire(timer: TimerRecord): Promise<Fired> {
    const fired = timer.kind === 'deadline' ? await this.#wakeRun(timer) : await this.#options.fireSchedule(timer)
    if (fired === 'fired') this.tellHost(this.#options.clock.now())
    return fired
  }

  /** Wakes a waiting run. Drops the timer if the run does not wait: it sets the timer again when it starts to wait. */
  async #wakeRun({ id, session: key, body }: TimerRecord): Promise<Fired> {
    const { store, ids } = this.#options
    const { runId } = body
    if (typeof runId !== 'string') throw new TypeError(`The timer ${id} names no run.`)
    const drop = { op: 'timer.drop', ids: [id] } as const
    const run = await store.readRun(runId)
    const waits = run.status === 'found' && isWaiting(run.value.status)
    const as: readonly Expect[] = run.status === 'found' ? [{ that: 'run', runId, status: [run.value.status] }] : []
    const result = await store.commit({
      id: ids.next('batch'),
      key,
      expect: [{ that: 'timer', id }, ...as],
      writes: waits ? [drop, { op: 'run.patch', runId, patch: { status: 'queued' } }] : [drop],
    })
    if (!result.ok) return 'kept'
    if (!waits) return 'dropped'
    this.#options.announce(key)
    this.#options.wake()
    return 'fired'
  }

  #look(): void {
    if (!this.#isOn) return
    this.sweep()
      .then(({ nextDueAt }) => nextDueAt !== null && this.#arm(nextDueAt))
      .catch((error: unknown) => this.#options.onError(error, { during: 'sweep' }))
      .finally(() => this.#arm(this.#options.clock.now() + sweepMs))
  }

  #arm(atMs: number): void {
    if (!this.#isOn || atMs >= this.#armedFor) return
    this.#cancel?.()
    this.#armedFor = atMs
    this.#cancel = this.#options.clock.setTimer(atMs, () => {
      this.#armedFor = Infinity
      this.#options.wake()
      this.#look()
    })
  }
}

const nothingPruned: SweepReport['pruned'] = { runs: 0, events: 0, sessions: 0, more: false }
