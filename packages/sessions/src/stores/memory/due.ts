import type { DueReport } from '../../store/contract.ts'
import type { SessionRecord, TimerRecord } from '../../store/records.ts'
import { claimableAt, hasExpired, inputKindsThatStart } from '../rules.ts'
import { firstOpenRun } from './held-session.ts'
import type { HeldSession, Space } from './held-session.ts'

/** What time alone brings about: now, and when next. */
export function dueIn(space: Space, now: number, limit: number): DueReport {
  const sessions = [...space.sessions.values()]
  const timers = sessions.flatMap((held) => [...held.timers.values()]).sort(byTime)
  const due = timers.filter((timer) => timer.dueAt <= now)
  const expired = sessions
    .map((held) => held.record)
    .filter((record) => record.status !== 'expired' && hasExpired(record, now))
    .sort(byEnd)
  const later = [...timers.map((timer) => timer.dueAt), ...sessions.flatMap((held) => timesOf(held, now))].filter((time) => time > now)
  return {
    timers: due.slice(0, limit),
    expired: expired.slice(0, limit).map((record) => record.key),
    unread: sessions.filter(isUnread).slice(0, limit).map((held) => held.record.key),
    nextAt: due.length > 0 || expired.length > 0 ? now : later.length > 0 ? Math.min(...later) : null,
  }
}

function isUnread({ record, openRuns, inbox }: HeldSession): boolean {
  return record.status !== 'expired' && openRuns.size === 0 && [...inbox.values()].some(({ kind }) => inputKindsThatStart.includes(kind))
}

/** When a session expires, and when its next run may be claimed. */
function timesOf(held: HeldSession, now: number): readonly number[] {
  const { status, expiresAt } = held.record
  const first = firstOpenRun(held)
  const times = first && (first.status === 'queued' || first.status === 'running') ? [claimableAt(first, now)] : []
  return expiresAt === undefined || status === 'expired' ? times : [...times, expiresAt]
}

function byEnd(a: SessionRecord, b: SessionRecord): number {
  return (a.expiresAt ?? 0) - (b.expiresAt ?? 0) || (a.key < b.key ? -1 : 1)
}

function byTime(a: TimerRecord, b: TimerRecord): number {
  return a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)
}
