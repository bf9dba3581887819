import type { DueReport } from '../../contract/session-store.ts'
import type { SessionRecord, TimerRecord } from '../../contract/records.ts'
import { claimableAt, hasExpired } from '../../core/rules.ts'
import { firstOpenRun } from './held-session.ts'
import type { Space } from './space.ts'

/** Returns the work that is due by time alone, and when more becomes due. */
export function dueIn({ index }: Space, now: number, limit: number, runs = false): DueReport {
  const sessions = [...index.times.until(now)]
  const [line] = index.notices.lines
  const timers = sessions
    .flatMap((held) => [...held.timers.values()])
    .filter((timer): timer is DueTimer => timer.dueAt !== null && timer.dueAt <= now)
  const expired = sessions.map((held) => held.record).filter((record) => record.expiredAt === undefined && hasExpired(record, now))
  const nextAt = sessions.length > 0 ? now : Math.min(index.times.first, nextClaimAt(index, now))
  return {
    timers: timers.sort(byTime).slice(0, limit),
    expired: expired
      .sort(byEnd)
      .slice(0, limit)
      .map((record) => record.key),
    unread: [...index.unread.keys()].slice(0, limit),
    ...(runs && { runs: claimableKeys(index, now, limit) }),
    nextAt: nextAt === Infinity ? null : nextAt,
    ...(line && { noticesAt: line.sessions.first }),
  }
}

function claimableKeys({ queued, running }: Space['index'], now: number, limit: number): readonly string[] {
  const keys: string[] = []
  for (const sessions of [running, queued]) {
    for (const held of sessions.values()) {
      if (keys.length === limit) return keys
      const first = firstOpenRun(held)
      const isHeld = first?.status === 'running' && (first.leaseUntil ?? 0) > now
      if (first && !isHeld && !hasExpired(held.record, now) && claimableAt(first, now) <= now) keys.push(held.record.key)
    }
  }
  return keys
}

/** Returns the earliest time at which a run becomes claimable that is not claimable yet. */
function nextClaimAt({ delayed, running }: Space['index'], now: number): number {
  let nextAt = delayed.firstAfter(now)
  for (const held of running.values()) {
    const first = firstOpenRun(held)
    const at = first ? claimableAt(first, now) : now
    if (at > now && at < nextAt) nextAt = at
  }
  return nextAt
}

function byEnd(a: SessionRecord, b: SessionRecord): number {
  return (a.expiresAt ?? 0) - (b.expiresAt ?? 0) || (a.key < b.key ? -1 : 1)
}

type DueTimer = TimerRecord & { readonly dueAt: number }

function byTime(a: DueTimer, b: DueTimer): number {
  return a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1)
}
