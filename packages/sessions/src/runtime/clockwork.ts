import type { Clock } from '@bowline/llm'
import type { IdSource } from '@bowline/agent-loop'
import { waitingStatuses } from '../session/views.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { PruneReport, SessionStore } from '../store/contract.ts'
import type { TimerRecord } from '../store/records.ts'
import type { ErrorContext, Retention, SweepReport } from './types.ts'

export interface ClockworkOptions {
  readonly store: SessionStore
  readonly clock: Clock
  readonly ids: IdSource
  readonly retention: Required<Retention>
  /** Nothing happens by itself when false. */
  readonly hasTimers: boolean
  readonly onWake: ((atMs: number) => void | Promise<void>) | undefined
  /** Must not throw. */
  readonly onError: (error: unknown, where: ErrorContext) => void
  /** There is work to claim. */
  readonly wake: () => void
  readonly announce: (key: string) => void
  readonly expire: (key: string) => Promise<unknown>
  readonly startLeftovers: (key: string) => Promise<void>
}

const sweepMs = 30_000
const pruneMs = 3_600_000
const batchSize = 100

/** What time alone brings about: one timer of the process, at the nearest time that the store knows of. */
export class Clockwork {
  readonly #options: ClockworkOptions
  #cancel: (() => void) | undefined
  #armedFor = Infinity
  #isOn = false
  #looking: Promise<SweepReport> | undefined
  #prunedAt = -Infinity

  constructor(options: ClockworkOptions) {
    this.#options = options
  }

  start(): void {
    this.#isOn = true
    this.#look()
  }

  async stop(): Promise<void> {
    this.#isOn = false
    this.#cancel?.()
    this.#armedFor = Infinity
    await this.#looking?.catch(() => undefined)
  }

  /** Looks when the next thing is due. */
  async refresh(): Promise<void> {
    const { nextAt } = await this.#options.store.due(1)
    if (nextAt !== null) this.schedule(nextAt)
  }

  /** Something is due then. A host that wakes the process is told. */
  schedule(atMs: number): void {
    const { onWake, onError } = this.#options
    this.#arm(atMs)
    try {
      Promise.resolve(onWake?.(atMs)).catch((error: unknown) => onError(error, { during: 'wake' }))
    } catch (error) {
      onError(error, { during: 'wake' })
    }
  }

  /** All that is due, also what nobody announced, and what need not be kept. */
  async sweep(): Promise<SweepReport> {
    // One after the other: what is found twice is done once.
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
    const { store, clock } = this.#options
    let [timers, expired, started] = [0, 0, 0]
    for (;;) {
      const due = await store.due(batchSize)
      for (const timer of due.timers) timers += Number(await this.#fire(timer))
      for (const key of due.expired) {
        await this.#options.expire(key)
        expired += 1
      }
      for (const key of due.unread) await this.#options.startLeftovers(key)
      started += due.unread.length
      if (due.timers.length < batchSize && due.expired.length < batchSize) {
        const pruned = clock.now() - this.#prunedAt >= pruneMs ? await this.#prune() : nothingPruned
        return { timers, expired, started, pruned, nextDueAt: due.nextAt !== null && due.nextAt <= clock.now() ? null : due.nextAt }
      }
    }
  }

  async #prune(): Promise<PruneReport> {
    const { store, clock, retention } = this.#options
    const now = clock.now()
    this.#prunedAt = now
    let total = nothingPruned
    for (;;) {
      const step = await store.prune({ runsEndedBefore: now - retention.runsMs, expiredBefore: now - retention.expiredMs }, batchSize)
      total = {
        runs: total.runs + step.runs,
        events: total.events + step.events,
        sessions: total.sessions + step.sessions,
        more: step.more,
      }
      if (!step.more) return total
    }
  }

  /** The effect is part of the commit that drops the timer. A run that no longer waits needs no waking. */
  async #fire({ id, session: key, body }: TimerRecord): Promise<boolean> {
    const { store, ids } = this.#options
    const runId = typeof body.runId === 'string' ? body.runId : ''
    const drop = { op: 'timer.drop', ids: [id] } as const
    const result = await commitOnce(store, {
      id: ids.next('batch'),
      key,
      expect: [{ that: 'timer', id }, { that: 'run', runId, status: waitingStatuses }],
      writes: [drop, { op: 'run.patch', runId, patch: { status: 'queued' } }],
    })
    if (!result.ok) {
      await commitOnce(store, { id: ids.next('batch'), key, expect: [{ that: 'timer', id }], writes: [drop] })
      return false
    }
    this.#options.announce(key)
    this.#options.wake()
    return true
  }

  #look(): void {
    if (!this.#isOn) return
    this.sweep()
      .then(({ nextDueAt }) => nextDueAt !== null && this.#arm(nextDueAt))
      .catch((error: unknown) => this.#options.onError(error, { during: 'sweep' }))
      .finally(() => this.#arm(this.#options.clock.now() + sweepMs))
  }

  #arm(atMs: number): void {
    if (!this.#isOn || !this.#options.hasTimers || atMs >= this.#armedFor) return
    this.#cancel?.()
    this.#armedFor = atMs
    this.#cancel = this.#options.clock.setTimer(atMs, () => {
      this.#armedFor = Infinity
      this.#options.wake()
      this.#look()
    })
  }
}

const nothingPruned: PruneReport = { runs: 0, events: 0, sessions: 0, more: false }
