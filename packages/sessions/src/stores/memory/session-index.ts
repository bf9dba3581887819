import type { RunRecord } from '../../contract/records.ts'
import { inputKindsThatStart } from '../../core/rules.ts'
import { firstOpenRun } from './held-session.ts'
import type { HeldSession } from './held-session.ts'
import { NoticeIndex } from './notice-index.ts'
import { SessionLists } from './session-lists.ts'
import { TimeOrder } from './time-order.ts'

/** Indexes of the sessions that need work. */
export class SessionIndex {
  readonly lists = new SessionLists()
  /** Sessions whose first open run is queued, by its time of acceptance. */
  readonly queued = new TimeOrder<HeldSession>()
  /** Queued sessions whose first open run has a `notBefore`, by that time. */
  readonly delayed = new TimeOrder<HeldSession>()
  /** Sessions whose first open run is running. */
  readonly running = new Map<string, HeldSession>()
  /** Sessions whose oldest run has ended, by its end time. */
  readonly ended = new TimeOrder<HeldSession>()
  /** Sessions without an open run whose inbox holds a row that starts one. */
  readonly unread = new Map<string, HeldSession>()
  /** Sessions with a timer or an expiry, by the earlier of both times. */
  readonly times = new TimeOrder<HeldSession>()
  readonly notices = new NoticeIndex()
  /** Sessions with a settled notice, by the time of the first. */
  readonly settledNotices = new TimeOrder<HeldSession>()

  /** Must be called after each change of a session. Undefined means that the key has no session. */
  update(key: string, held: HeldSession | undefined): void {
    this.lists.update(key, held)
    setOrDelete(this.unread, key, held && isUnread(held) ? held : undefined)
    const first = held && firstOpenRun(held)
    setOrDelete(this.running, key, first?.status === 'running' ? held : undefined)
    const waits = first?.status === 'queued'
    this.queued.set(key, waits ? first.createdAt : undefined, held)
    this.delayed.set(key, waits ? first.notBefore : undefined, held)
    this.ended.set(key, held && oldestRun(held)?.endedAt, held)
    this.times.set(key, held && nextTimeOf(held), held)
    this.notices.update(key, held)
    this.settledNotices.set(key, held && firstSettledAt(held), held)
  }
}

function setOrDelete<V>(map: Map<string, V>, key: string, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

/** The oldest run. Runs are stored in the order of their numbers. */
export function oldestRun({ runs }: HeldSession): RunRecord | undefined {
  return runs.values().next().value
}

function isUnread({ record, openRuns, inbox }: HeldSession): boolean {
  return record.expiredAt === undefined && openRuns.size === 0 && [...inbox.values()].some(({ kind }) => inputKindsThatStart.includes(kind))
}

/** Time of the next timer or of the expiry. Infinity means never. */
function nextTimeOf({ record, timers }: HeldSession): number {
  return [...timers.values()].reduce((first, { dueAt }) => Math.min(first, dueAt ?? Infinity), record.expiresAt ?? Infinity)
}

/**
 * Returns when the first settled notice was settled. Notices of a hook are settled in order, so at most one pending one per hook
 * precedes it.
 */
function firstSettledAt({ notices }: HeldSession): number | undefined {
  for (const { settledAt } of notices.values()) if (settledAt !== undefined) return settledAt
  return undefined
}
