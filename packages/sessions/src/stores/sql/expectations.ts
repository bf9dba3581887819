import type { Expect } from '../../contract/batch.ts'
import { isOpen } from '../../contract/run-status.ts'
import type { InboxKind } from '../../contract/records.ts'
import { refuseUnless } from '../../core/refused.ts'
import { hasExpired } from '../../core/rules.ts'
import type { Known } from './known.ts'
import { nameIn } from './known.ts'
import { findRun, sessionOf } from './work.ts'
import type { Work } from './work.ts'

type Expectations = { readonly [T in Expect['that']]: (work: Work, expect: Extract<Expect, { that: T }>) => void }

/** Each check refuses the batch if its expectation does not hold. */
const expectations: Expectations = {
  session(work, { id, version, alive }) {
    if (id === null) return refuseUnless(!work.session, 'conflict')
    const { record } = sessionOf(work)
    refuseUnless(record.id === id && (version ?? record.version) === record.version, 'conflict')
    refuseUnless(!alive || !hasExpired(record, work.now), 'expired')
  },

  fence(work, { runId, epoch }) {
    const run = findRun(work, runId)?.state
    refuseUnless(run?.status === 'running' && run.epoch === epoch, 'fenced')
  },

  idle(work, { exceptCompaction }) {
    refuseUnless(countOpenRuns(work, ({ kind }) => !exceptCompaction || kind !== 'compaction') === 0, 'busy')
  },

  'none-queued'(work, { except }) {
    refuseUnless(countOtherRuns(work, except) === 0, 'runs-queued')
  },

  'some-queued'(work, { except }) {
    refuseUnless(countOtherRuns(work, except) > 0, 'nothing-queued')
  },

  'queue-below'(work, { max }) {
    refuseUnless(countOpenRuns(work, ({ status }) => status === 'queued') < max, 'queue-full')
  },

  run(work, { runId, status, notStopping }) {
    const run = findRun(work, runId)?.state
    refuseUnless(run !== undefined && status.includes(run.status), 'conflict')
    refuseUnless(!notStopping || !run?.stop, 'stopping')
  },

  leaf(work, { entryId }) {
    refuseUnless(sessionOf(work).record.leaf === entryId, 'conflict')
  },

  'inbox-empty'(work, { kinds }) {
    refuseUnless(countInbox(work, kinds) === 0, 'inputs-waiting')
  },

  'inbox-below'(work, { kind, max }) {
    refuseUnless(countInbox(work, [kind]) < max, 'queue-full')
  },

  timer({ session, known }, { id, dueAt }) {
    const found = session && known.timers.get(nameIn(session.row, id))
    refuseUnless(found !== undefined && (dueAt === undefined || dueAt === found), 'conflict')
  },
}

function countOpenRuns({ session, known }: Work, counts: (run: Known['openRuns'][number]) => boolean): number {
  return known.openRuns.filter((each) => each.session === session?.row && counts(each)).reduce((sum, { runs }) => sum + runs, 0)
}

/** Counts the open runs except this one. */
function countOtherRuns(work: Work, runId: string): number {
  const run = findRun(work, runId)?.state
  return countOpenRuns(work, () => true) - (run && isOpen(run.status) ? 1 : 0)
}

function countInbox({ session, known }: Work, kinds: readonly InboxKind[]): number {
  return known.inboxCounts
    .filter((each) => each.session === session?.row && kinds.includes(each.kind))
    .reduce((sum, { rows }) => sum + rows, 0)
}

export function checkExpectations(work: Work, expected: readonly Expect[]): void {
  for (const expect of expected) expectations[expect.that](work, expect as never)
}
