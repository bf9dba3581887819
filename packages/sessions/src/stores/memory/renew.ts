import type { Lease, LeaseState } from '../../contract/session-store.ts'
import { copyJson } from '../../json.ts'
import type { Space } from './space.ts'

/** Renews leases in memory only: the next process that opens a single-process store is another owner. */
export function renewLeases(space: Space, leases: readonly Lease[], leaseUntil: number): readonly LeaseState[] {
  return leases.map(({ runId, epoch }) => {
    const held = space.sessionOfRun.get(runId)
    const run = held?.runs.get(runId)
    if (!held || run?.status !== 'running' || run.epoch !== epoch) return { runId, held: false }
    const renewed = { ...run, leaseUntil }
    held.runs.set(runId, renewed)
    held.openRuns.set(runId, renewed)
    return run.stop ? { runId, held: true, stopping: copyJson(run.stop) } : { runId, held: true }
  })
}
