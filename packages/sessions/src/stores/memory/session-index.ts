import type { RunRecord } from '../../contract/records.ts'
import { inputKindsThatStart } from '../rules.ts'
import { firstOpenRun } from './held-session.ts'
import type { HeldSession } from './held-session.ts'
import { TimeOrder } from './time-order.ts'

/** Finds the sessions that need work without a look at the others. */
export class SessionIndex {
  /** Sessions with an open run. */
  readonly open = new Map<string, HeldSession>()
  /** Sessions whose first open run is queued, by the time of its acceptance. */
  readonly queued = new TimeOrder<HeldSession>()
  /** Queued sessions whose first open run has a `notBefore`, by that time. */
  readonly delayed = new TimeOrder<HeldSession>()
  /** Sessions whose first open run is running. */
  readonly running = new Map<string, HeldSession>()
  /** Sessions whose oldest run has ended, by the time of its end. */
  readonly ended = new TimeOrder<HeldSession>()
  /** Sessions without an open run whose inbox holds a row that starts one. */
  readonly unread = new Map<string, HeldSession>()
  /** Sessions with a timer or an end of life, by the earlier of both. */
  readonly times = new TimeOrder<HeldSession>()
  /** Sessions with a notice that is due at a time, by that of the first. */
  readonly notices = new TimeOrder<HeldSession>()
  /** Sessions with a settled notice, by the time of the first. */
  readonly settledNotices = new TimeOrder<HeldSession>()
  /** Child sessions by the key of their parent, then by their own. */
  readonly #children = new Map<string, Map<string, HeldSession>>()
  readonly #parents = new Map<string, string>()

  /** Must be called after each change of a session. Undefined: there is none under this key. */
  update(key: string, held: HeldSession | undefined): void {
    setOrDelete(this.open, key, held && held.openRuns.size > 0 ? held : undefined)
    setOrDelete(this.unread, key, held && isUnread(held) ? held : undefined)
    const first = held && firstOpenRun(held)
    setOrDelete(this.running, key, first?.status === 'running' ? held : undefined)
    const waits = first?.status === 'queued'
    setOrDeleteTime(this.queued, key, held, waits ? first.createdAt : undefined)
    setOrDeleteTime(this.delayed, key, held, waits ? first.notBefore : undefined)
    setOrDeleteTime(this.ended, key, held, held && oldestRun(held)?.endedAt)
    setOrDeleteTime(this.times, key, held, held && nextTimeOf(held))
    setOrDeleteTime(this.notices, key, held, held && firstNoticeAt(held))
    setOrDeleteTime(this.settledNotices, key, held, held && firstSettledAt(held))
    this.#updateParent(key, held)
  }

  childrenOf(parent: string): Iterable<HeldSession> {
    return this.#children.get(parent)?.values() ?? []
  }

  #updateParent(key: string, held: HeldSession | undefined): void {
    const [before, parent] = [this.#parents.get(key), held?.record.parent]
    if (before !== undefined) this.#children.get(before)?.delete(key)
    if (before !== undefined && this.#children.get(before)?.size === 0) this.#children.delete(before)
    setOrDelete(this.#parents, key, parent)
    if (!held || parent === undefined) return
    const siblings = this.#children.get(parent) ?? new Map<string, HeldSession>()
    this.#children.set(parent, siblings.set(key, held))
  }
}

function setOrDelete<V>(map: Map<string, V>, key: string, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

function setOrDeleteTime(order: TimeOrder<HeldSession>, key: string, held: HeldSession | undefined, time = Infinity): void {
  if (held) order.set(key, time, held)
  else order.delete(key)
}

/** Runs are in the order of their numbers. */
export function oldestRun({ runs }: HeldSession): RunRecord | undefined {
  return runs.values().next().value
}

function isUnread({ record, openRuns, inbox }: HeldSession): boolean {
  return record.expiredAt === undefined && openRuns.size === 0 && [...inbox.values()].some(({ kind }) => inputKindsThatStart.includes(kind))
}

/** Infinity: never. */
function nextTimeOf({ record, timers }: HeldSession): number {
  return [...timers.values()].reduce((first, { dueAt }) => Math.min(first, dueAt ?? Infinity), record.expiresAt ?? Infinity)
}

/** Infinity: none is due at any time. */
export function firstNoticeAt({ pendingNotices }: HeldSession): number {
  let first = Infinity
  for (const { dueAt = Infinity } of pendingNotices.values()) first = Math.min(first, dueAt)
  return first
}

/** Those of one hook are settled in their order; before a settled one there is at most one pending notice for each hook. */
function firstSettledAt({ notices }: HeldSession): number | undefined {
  for (const { settledAt } of notices.values()) if (settledAt !== undefined) return settledAt
  return undefined
}
