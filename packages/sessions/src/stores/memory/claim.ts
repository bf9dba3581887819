import type { Claim, ClaimRequest } from '../../contract/session-store.ts'
import { waitingKinds } from '../../contract/records.ts'
import type { RunRecord } from '../../contract/records.ts'
import { claimableAt, claimRun, hasExpired, tenantOfRun, TenantCounts } from '../../core/rules.ts'
import { afterRuns, firstOpenRun } from './held-session.ts'
import type { HeldSession } from './held-session.ts'
import type { Space } from './space.ts'
import { inOneStep, setRecord, setRun } from './work.ts'

export function claimRuns(space: Space, request: ClaimRequest, now: number): Claim[] {
  const claims: Claim[] = []
  const faults: unknown[] = []
  for (const { held, first } of firstClaimable(space, request, now)) {
    try {
      claims.push(claimOne(space, held, first, request, now))
    } catch (error) {
      faults.push(error)
    }
  }
  // Successful claims must reach their owner. The next claim meets the fault again.
  if (claims.length === 0 && faults.length > 0) throw faults[0]
  return claims
}

function claimOne(space: Space, held: HeldSession, first: RunRecord, request: ClaimRequest, now: number): Claim {
  return inOneStep(space, held.record.key, now, (work) => {
    work.isClaim = true
    const run = claimRun(first, request, now)
    setRun(work, run)
    setRecord(work, { ...afterRuns(held), version: held.record.version + 1 })
    const inbox = [...held.inbox.values()].filter((row) => waitingKinds.includes(row.kind))
    return { run, session: held.record, previous: first.status === 'queued' ? 'queued' : 'running', inbox }
  })
}

interface Claimable {
  readonly held: HeldSession
  readonly first: RunRecord
}

/** Returns the oldest claimable runs. Scans the queued ones in order and stops once enough are found. */
function firstClaimable(space: Space, request: ClaimRequest, now: number): readonly Claimable[] {
  const { index, sessionOfRun, sessions } = space
  const max = Math.max(0, request.max)
  const tenants = tenantCounts(space, request)
  const find = (sessions: Iterable<HeldSession>, most = Infinity): Claimable[] => {
    const found: Claimable[] = []
    for (const held of sessions) {
      if (found.length >= most) break
      found.push(
        ...claimableOf(space, held, request, now).filter(
          ({ first }) => tenants?.take({ ...first, tenant: tenantOfRun(held.record.key, first) }) ?? true,
        ),
      )
    }
    return found
  }
  const keys = request.others ? undefined : request.keys
  const named = keys?.map((key) => sessions.get(key)) ?? (request.runId === undefined ? undefined : [sessionOfRun.get(request.runId)])
  const found = named
    ? find(named.filter((held) => held !== undefined))
    : [...find(index.running.values()), ...find(index.queued.values(), max)]
  return found.sort((a, b) => a.first.createdAt - b.first.createdAt).slice(0, max)
}

function tenantCounts({ index }: Space, { maxRunsPerTenant }: ClaimRequest): TenantCounts | undefined {
  if (maxRunsPerTenant === undefined) return undefined
  const running = new Map<string, number>()
  for (const held of index.running.values()) {
    const first = firstOpenRun(held)
    const tenant = first && tenantOfRun(held.record.key, first)
    if (tenant) running.set(tenant, (running.get(tenant) ?? 0) + 1)
  }
  return new TenantCounts(maxRunsPerTenant, running)
}

function claimableOf(space: Space, held: HeldSession, request: ClaimRequest, now: number): readonly Claimable[] {
  if (hasExpired(held.record, now) || !request.agents.includes(held.record.agent)) return []
  const first = boundLease(held, firstOpenRun(held), now + request.leaseMs)
  const wanted = first && (request.runId ?? first.id) === first.id
  return wanted && isClaimable(space, { held, first }, request, now) ? [{ held, first }] : []
}

/** Shortens a lease that ends later than a new one would: it was given before the clock was set back. */
function boundLease(held: HeldSession, run: RunRecord | undefined, latest: number): RunRecord | undefined {
  if (run?.leaseUntil === undefined) return run
  const bounded = { ...run, leaseUntil: Math.min(run.leaseUntil, latest) }
  held.runs.set(run.id, bounded)
  held.openRuns.set(run.id, bounded)
  return bounded
}

/** True if the run is queued, or running and lost by its owner, and its earliest start has passed. */
function isClaimable({ loss }: Space, { held, first: run }: Claimable, { owner, holds, lostAt }: ClaimRequest, now: number): boolean {
  const { status, leaseUntil = -Infinity } = run
  const isLost = run.owner === owner ? !holds.includes(run.id) : loss === 'owner' || leaseUntil <= now || held.record.version === lostAt
  return (status === 'queued' || (status === 'running' && isLost)) && claimableAt(run, now) <= now
}
