import type { Clock } from '@bowline/llm'
import { openRuns } from '../commands/views.ts'
import { readAll } from '../contract/paging.ts'
import { firstInLine, isWaiting } from '../contract/run-status.ts'
import type { DueReport, SessionStore } from '../contract/session-store.ts'
import type { RunRecord, SessionRecord, TimerKind, TimerRecord } from '../contract/records.ts'
import { claimableAt, inputKindsThatStart } from '../core/rules.ts'
import type { Leaving } from './active-runs.ts'
import type { ClaimLoop } from './claim-loop.ts'
import { aborted, withTimeLimit } from './drain.ts'
import type { WorkOptions, WorkReport } from './types.ts'

/** Wait in ms before a run is tried again that could be claimed, but was not: its tenant is at a limit, or its agent is unknown here. */
const retryMs = 1000

export interface SessionWorkOptions {
  readonly store: SessionStore
  readonly clock: Clock
  readonly loop: ClaimLoop
  /** Does what is due in one session. Resolves with true if anything changed. */
  readonly sweep: (due: Pick<DueReport, 'timers' | 'expired' | 'unread'>) => Promise<boolean>
  /** Tells the host that this session has work now. Must not reject. */
  readonly tell: (key: string) => Promise<void>
}

interface Visit {
  readonly done: Promise<WorkReport>
  /** Work was stored for the session since the visit looked last. */
  isNews: boolean
}

interface Limits {
  /** Aborted when no further step may begin. */
  readonly late: AbortSignal
  /** Aborted when the run must yield at once. */
  readonly over: AbortSignal | undefined
  /**
   * Runs that another process claimed until this time may be taken over. A later claim belongs to a later visit: this one froze
   * meanwhile, and the host has given it up.
   */
  readonly lostUntil: number
}

/** State of a session when a visit reads it, and the work that can be done there now. */
interface Sight {
  readonly session: SessionRecord
  /** Its end may not be recorded yet. Nothing else is left to do. */
  readonly hasExpired: boolean
  readonly due: Pick<DueReport, 'timers' | 'expired' | 'unread'>
  readonly first: RunRecord | undefined
  /** Earliest time at which more is due, without the first run. */
  readonly nextAt: number
}

/** Works on single sessions, for a host that decides which process works on which session. */
export class SessionWork {
  readonly #options: SessionWorkOptions
  readonly #visits = new Map<string, Visit>()

  constructor(options: SessionWorkOptions) {
    this.#options = options
  }

  /** Works on a session until it rests or the time is over. A second call for a session joins the first. */
  async work(key: string, options: WorkOptions): Promise<WorkReport> {
    const { clock } = this.#options
    const before = this.#visits.get(key)
    if (!before) return this.#begin(key, options)
    return withTimeLimit(clock, options, (over) =>
      Promise.race([before.done, aborted(over).then((): WorkReport => ({ ran: 0, yielded: 0, nextDueAt: clock.now() }))]),
    )
  }

  /** Notes that work was stored for a session. Returns false if no visit to it is in progress. */
  note(key: string): boolean {
    const visit = this.#visits.get(key)
    if (visit) visit.isNews = true
    return visit !== undefined
  }

  #begin(key: string, { untilMs, abortSignal, takeOver = false }: WorkOptions): Promise<WorkReport> {
    const { clock } = this.#options
    const begunAt = clock.now()
    const visit: Visit = {
      isNews: false,
      done: withTimeLimit(clock, untilMs === undefined ? {} : { untilMs }, (late) =>
        this.#visit(key, () => visit, { late, over: abortSignal, lostUntil: takeOver ? begunAt : -Infinity }),
      ).finally(() => this.#forget(key, visit)),
    }
    this.#visits.set(key, visit)
    return visit.done
  }

  #forget(key: string, visit: Visit): void {
    if (this.#visits.get(key) === visit) this.#visits.delete(key)
  }

  async #visit(key: string, visit: () => Visit, limits: Limits): Promise<WorkReport> {
    const { loop, clock, sweep, tell } = this.#options
    const counts: Record<Leaving, number> = { settled: 0, rested: 0, 'gave-back': 0, lost: 0 }
    // In one step with the last look at the news, so that none is lost between the two.
    const leave = (dueAt: number): WorkReport => {
      this.#forget(key, visit())
      const nextAt = visit().isNews ? clock.now() : dueAt
      return { ran: counts.settled + counts.rested, yielded: counts['gave-back'], nextDueAt: nextAt === Infinity ? null : nextAt }
    }
    // The caller must know the visit before it begins.
    await Promise.resolve()
    let hasStarted: boolean = false
    for (;;) {
      visit().isNews = false
      const sight = await this.#look(key)
      if (!sight) return leave(Infinity)
      if (isOver(limits)) return leave(isAnyDue(sight.due) ? clock.now() : this.#nextDueAt(sight, 0))
      // Unread inputs that wait for something else start nothing.
      const { due } = sight
      const unread: readonly string[] = hasStarted ? [] : due.unread
      hasStarted = unread.length > 0
      const isChanged = await sweep({ ...due, unread })
      if (sight.hasExpired) return leave(Infinity)
      if (isChanged) continue
      const left = await this.#execute(sight, limits)
      if (left === undefined) {
        if (visit().isNews || isOver(limits)) continue
        return leave(this.#nextDueAt(sight, retryMs))
      }
      counts[left] += 1
      if (left === 'lost') {
        // The process that has the session now may have looked before the news was stored.
        const { nextDueAt, ...done } = leave(Infinity)
        if (nextDueAt !== null) await tell(key)
        return { ...done, nextDueAt: null }
      }
      // Nothing is queued or waiting then: a look would find only the times that are known.
      if (left === 'settled' && !visit().isNews) return leave(sight.nextAt)
      await loop.settled()
    }
  }

  async #look(key: string): Promise<Sight | undefined> {
    const { store, clock } = this.#options
    const [read, timers, runs, inbox] = await Promise.all([
      store.readSession(key),
      this.#timers(key),
      openRuns(store, key),
      store.readInbox(key, inputKindsThatStart),
    ])
    if (!('value' in read)) return undefined
    const { value: session } = read
    const now = clock.now()
    const nothing = { timers: [], expired: [], unread: [] }
    if (read.status === 'expired') {
      return { session, hasExpired: true, due: { ...nothing, expired: [key] }, first: undefined, nextAt: Infinity }
    }
    const times = [...timers.map(({ dueAt }) => dueAt), session.expiresAt ?? null].filter((at) => at !== null)
    return {
      session,
      hasExpired: false,
      due: {
        ...nothing,
        timers: timers.filter(({ dueAt }) => dueAt !== null && dueAt <= now),
        unread: runs.length === 0 && inbox.length > 0 ? [key] : [],
      },
      first: firstInLine(runs),
      nextAt: Math.min(Infinity, ...times.filter((at) => at > now)),
    }
  }

  async #timers(key: string): Promise<readonly TimerRecord[]> {
    const kinds: readonly TimerKind[] = ['deadline', 'schedule']
    const { store } = this.#options
    const found = await Promise.all(kinds.map((kind) => readAll((page) => store.listTimers({ kind, key, ...page }))))
    return found.flat()
  }

  /** Claims the first run and waits until it leaves this process. Resolves with undefined if it cannot be claimed. */
  async #execute({ session, first }: Sight, limits: Limits): Promise<Leaving | undefined> {
    const { loop } = this.#options
    if (!first || isWaiting(first.status)) return undefined
    const [late, over] = [aborted(limits.late), aborted(limits.over)]
    const lostAt = (await this.#isLost(first, limits.lostUntil)) ? session.version : undefined
    while (!loop.executes(session.key)) {
      if (isOver(limits)) return undefined
      const { news } = loop
      if (!loop.hasRoom) await Promise.race([news, late, over])
      else if (!(await loop.claimSession(session.key, lostAt))) return undefined
    }
    return loop.leaving(session.key, late, over)
  }

  /**
   * Returns true if the run may be taken from its owner before its lease ends. Not while the owner may be executing a tool that must
   * start once: the host may have lost the worker, and the worker still works.
   */
  async #isLost({ id, step, status, epoch, claimedAt = 0, leaseUntil = 0 }: RunRecord, lostUntil: number): Promise<boolean> {
    const { store, clock } = this.#options
    if (status !== 'running' || leaseUntil <= clock.now() || claimedAt > lostUntil) return false
    // Reads the run again, because the session may have been read after a later claim.
    const [run, calls] = await Promise.all([store.readRun(id), store.readCalls(id, step)])
    if (run.status !== 'found' || run.value.epoch !== epoch) return false
    return !calls.some(({ state, effect }) => state === 'started' && effect === 'once')
  }

  /** `waitMs`: time until a run is tried that could be claimed now. */
  #nextDueAt({ first, nextAt }: Sight, waitMs: number): number {
    return Math.min(nextAt, first && !isWaiting(first.status) ? nextTryAt(first, this.#options.clock.now(), waitMs) : Infinity)
  }
}

function isAnyDue({ timers, expired, unread }: Sight['due']): boolean {
  return timers.length + expired.length + unread.length > 0
}

function nextTryAt(run: RunRecord, now: number, waitMs: number): number {
  const at = Math.max(claimableAt(run, now), run.status === 'running' ? (run.leaseUntil ?? 0) : 0)
  return at > now ? at : now + waitMs
}

function isOver({ late, over }: Limits): boolean {
  return late.aborted || over?.aborted === true
}
