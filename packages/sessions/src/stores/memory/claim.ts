import type { Claim, ClaimRequest } from '../../store/contract.ts'
import type { RunRecord } from '../../store/records.ts'
import { claimRun } from '../rules.ts'
import { heldByOther, replaceOpenRun, statusOf } from './held-session.ts'
import type { Space } from './held-session.ts'

export function claimRuns(space: Space, request: ClaimRequest, now: number): Claim[] {
  const firstRuns = [...space.sessions.values()].flatMap((held) => {
    const [first] = [...held.openRuns.values()].sort((a, b) => a.n - b.n)
    const wanted = first && (request.runId ?? first.id) === first.id && request.agents.includes(held.record.agent)
    return wanted && isClaimable(first, now) && !heldByOther(held, first.id) ? [{ held, first }] : []
  })
  firstRuns.sort((a, b) => a.first.createdAt - b.first.createdAt)
  return firstRuns.slice(0, Math.max(0, request.max)).map(({ held, first }): Claim => {
    const run = claimRun(first, request, now)
    replaceOpenRun(held, run)
    held.record = { ...held.record, status: statusOf(held), version: held.record.version + 1 }
    return { run, session: held.record, previous: first.status === 'queued' ? 'queued' : 'running' }
  })
}

/** Queued, or running under a lease that is over. */
function isClaimable({ status, leaseUntil = 0 }: RunRecord, now: number): boolean {
  return status === 'queued' || (status === 'running' && leaseUntil <= now)
}
