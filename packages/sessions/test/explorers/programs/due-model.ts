import type { Batch, Write } from '../../../src/contract/batch.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import { holdingStatuses, type RunRecord } from '../../../src/contract/records.ts'
import { inputKindsThatStart } from '../../../src/core/rules.ts'
import { readPendingWork, type PendingWork } from '../../../../testing/src/crash-kit/read-end.ts'

const holding: readonly string[] = holdingStatuses
const limit = 1000
const longestDelayMs = 30_000

interface Timer {
  readonly id: string
  readonly session: string
  readonly dueAt: number
}

/** A simple model of due work, computed from the timers in commits and from all records of the store. */
export class DueModel {
  readonly #timers = new Map<string, Timer>()
  /** Keys of sessions that are marked as expired. */
  readonly #marked = new Set<string>()
  readonly problems: string[] = []

  /** Notes an applied batch. */
  note({ key, writes, deliver = [] }: Batch): void {
    for (const write of writes) this.#noteWrite(key, write)
    for (const delivery of deliver) for (const write of delivery.writes) this.#noteWrite(delivery.to, write)
  }

  /** Compares the report of the store with this model. */
  async compare(store: SessionStore, now: number): Promise<void> {
    const { timers, expired, unread, nextAt } = await store.due(limit)
    const reported = { timers: timers.map(({ id }) => id), expired, unread: [...unread].sort(), nextAt }
    const sessions = await readPendingWork(store)
    const expected = this.#due(sessions, now)
    if (JSON.stringify(reported) === JSON.stringify(expected)) return
    this.problems.push(`at ${now} the store reports ${JSON.stringify(reported)}, expected ${JSON.stringify(expected)}`)
  }

  #noteWrite(key: string, write: Write): void {
    if (write.op === 'timer.put')
      for (const { id, dueAt } of write.timers) this.#timers.set(`${key} ${id}`, { id, session: key, dueAt: dueAt ?? Infinity })
    if (write.op === 'timer.drop') for (const id of write.ids) this.#timers.delete(`${key} ${id}`)
    if (write.op === 'session.expire') this.#marked.add(key)
    if (write.op !== 'session.delete') return
    this.#marked.delete(key)
    for (const [name, { session }] of this.#timers) if (session === key) this.#timers.delete(name)
  }

  #due(sessions: readonly PendingWork[], now: number) {
    const timers = [...this.#timers.values()].sort((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1))
    const living = sessions.filter(({ record: { key } }) => !this.#marked.has(key))
    const ends = living
      .flatMap(({ record: { key, expiredAt, expiresAt = expiredAt } }) => (expiresAt === undefined ? [] : [{ key, at: expiresAt }]))
      .sort((a, b) => a.at - b.at || (a.key < b.key ? -1 : 1))
    const dueTimers = timers.filter(({ dueAt }) => dueAt <= now)
    const expired = ends.filter(({ at }) => at <= now)
    const later = [
      ...timers.map(({ dueAt }) => dueAt),
      ...ends.map(({ at }) => at),
      ...sessions.flatMap(({ runs }) => startsAt(runs, now)),
    ].filter((at) => at > now && at !== Infinity)
    return {
      timers: dueTimers.map(({ id }) => id),
      expired: expired.map(({ key }) => key),
      unread: living
        .filter(isUnread)
        .map(({ record: { key } }) => key)
        .sort(),
      nextAt: dueTimers.length + expired.length > 0 ? now : later.length > 0 ? Math.min(...later) : null,
    }
  }
}

function isUnread({ runs, inbox }: PendingWork): boolean {
  return runs.every(({ endedAt }) => endedAt !== undefined) && inbox.some(({ kind }) => inputKindsThatStart.includes(kind))
}

/** Returns the times at which the first run of a session can be claimed. */
function startsAt(runs: readonly RunRecord[], now: number): readonly number[] {
  const open = runs.filter(({ endedAt }) => endedAt === undefined).sort((a, b) => a.place - b.place)
  const first = open.find(({ status }) => holding.includes(status)) ?? open[0]
  if (first?.status === 'queued') return first.notBefore === undefined ? [] : [first.notBefore]
  if (first?.status !== 'running' || (first.claimedAt ?? 0) > now) return []
  const delayMs = first.attempts === 0 ? 0 : Math.min(longestDelayMs, 1000 * 2 ** (first.attempts - 1))
  return [(first.claimedAt ?? 0) + delayMs]
}
