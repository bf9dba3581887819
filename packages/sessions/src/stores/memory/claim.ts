import type { Claim, ClaimRequest } from '../../store/contract.ts'
import type { RunRecord } from '../../store/records.ts'
import { claimableAt, claimRun, hasExpired } from '../rules.ts'
import { firstOpenRun, replaceOpenRun, statusOf } from './held-session.ts'
import type { Space } from './held-session.ts'

export function claimRuns(space: Space, request: ClaimRequest, now: number): Claim[] {
  const firstRuns = [...space.sessions.values()].flatMap((held) => {
    if (hasExpired(held.record, now) || !request.agents.includes(held.record.agent)) return []
    const first = firstOpenRun(held)
    const wanted = first && (request.runId ?? first.id) === first.id
    return wanted && isClaimable(first, now) ? [{ held, first }] : []
  })
  firstRuns.sort((a, b) => a.first.createdAt - b.first.createdAt)
  return firstRuns.slice(0, Math.max(0, request.max)).map(({ held, first }): Claim => {
    const run = claimRun(first, request, now)
    replaceOpenRun(held, run)
    held.record = { ...held.record, status: statusOf(held), version: held.record.version + 1 }
    return { run, session: held.record, previous: first.status === 'queued' ? 'queued' : 'running' }
  })
}

/** Queued, or running under a lease that is over; and not before its time. */
function isClaimable(run: RunRecord, now: number): boolean {
  const { status, leaseUntil = 0 } = run
  return (status === 'queued' || (status === 'running' && leaseUntil <= now)) && claimableAt(run) <= now
}
