import type { Expect } from '../../contract/batch.ts'
import { refuseUnless } from '../../core/refused.ts'
import { hasExpired } from '../../core/rules.ts'
import { heldOf, runIn } from './work.ts'
import type { Work } from './space.ts'

/** Each check refuses the batch if its expectation does not hold. */
const expectations: { readonly [T in Expect['that']]: (work: Work, expect: Extract<Expect, { that: T }>) => void } = {
  session(work, { id, version, alive }) {
    if (id === null) return refuseUnless(!work.held, 'conflict')
    const { record } = heldOf(work)
    refuseUnless(record.id === id && (version ?? record.version) === record.version, 'conflict')
    refuseUnless(!alive || !hasExpired(record, work.now), 'expired')
  },
  fence(work, { runId, epoch }) {
    const run = runIn(work, runId)
    refuseUnless(run?.status === 'running' && run.epoch === epoch, 'fenced')
  },
  idle({ held }, { exceptCompaction }) {
    const open = [...(held?.openRuns.values() ?? [])].filter((run) => !exceptCompaction || run.kind !== 'compaction')
    refuseUnless(open.length === 0, 'busy')
  },
  'none-queued'(work, { except }) {
    refuseUnless(!hasOtherRuns(work, except), 'runs-queued')
  },
  'some-queued'(work, { except }) {
    refuseUnless(hasOtherRuns(work, except), 'nothing-queued')
  },
  'queue-below'({ held }, { max }) {
    const queued = [...(held?.openRuns.values() ?? [])].filter((run) => run.status === 'queued')
    refuseUnless(queued.length < max, 'queue-full')
  },
  run(work, { runId, status, notStopping }) {
    const run = runIn(work, runId)
    refuseUnless(run !== undefined && status.includes(run.status), 'conflict')
    refuseUnless(!notStopping || !run?.stop, 'stopping')
  },
  leaf(work, { entryId }) {
    refuseUnless(heldOf(work).record.leaf === entryId, 'conflict')
  },
  'inbox-empty'({ held }, { kinds }) {
    const waiting = [...(held?.inbox.values() ?? [])].some((row) => kinds.includes(row.kind))
    refuseUnless(!waiting, 'inputs-waiting')
  },
  'inbox-below'({ held }, { kind, max }) {
    const waiting = [...(held?.inbox.values() ?? [])].filter((row) => row.kind === kind)
    refuseUnless(waiting.length < max, 'queue-full')
  },
  timer({ held }, { id, dueAt }) {
    const timer = held?.timers.get(id)
    refuseUnless(timer !== undefined && (dueAt === undefined || dueAt === timer.dueAt), 'conflict')
  },
}

/** True if another run than this one is open. */
function hasOtherRuns({ held }: Work, runId: string): boolean {
  return [...(held?.openRuns.keys() ?? [])].some((other) => other !== runId)
}

export function checkExpectations(work: Work, expect: readonly Expect[]): void {
  for (const each of expect) expectations[each.that](work, each as never)
}
