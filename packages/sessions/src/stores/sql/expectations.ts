import { sql } from 'kysely'
import type { Expect } from '../../contract/batch.ts'
import type { InboxKind, RunKind } from '../../contract/records.ts'
import { refuseUnless } from '../refused.ts'
import { hasExpired } from '../rules.ts'
import { isOpen } from '../../contract/run-status.ts'
import { first, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import { countOpenRuns, findRun, sessionOf } from './work.ts'
import type { Work } from './work.ts'

const openRunBut = statement((db, slots: { readonly session: number; readonly kind: string }) =>
  db
    .selectFrom('run')
    .select('row')
    .where('session', '=', slots.session)
    .where('ended_at', 'is', null)
    .where('kind', '<>', sql<RunKind>`${slots.kind}`)
    .limit(1),
)

const inboxRows = statement((db, slots: { readonly session: number; readonly kinds: string }, { listed }) =>
  db
    .selectFrom('inbox')
    .select((select) => select.fn.countAll<number>().as('rows'))
    .where('session', '=', slots.session)
    .where('kind', 'in', listed<InboxKind>(slots.kinds)),
)

const timerRow = statement((db, slots: { readonly session: number; readonly id: string }) =>
  db.selectFrom('timer').select('id').where('session', '=', slots.session).where('id', '=', slots.id),
)

type Expectations = { readonly [T in Expect['that']]: (work: Work, expect: Extract<Expect, { that: T }>) => Steps<void> }

/** Each refuses the batch when it does not hold. */
const expectations: Expectations = {
  // oxlint-disable-next-line require-yield -- what it looks at is there already
  *session(work, { id, version, alive }) {
    if (id === null) return refuseUnless(!work.session, 'conflict')
    const { record } = sessionOf(work)
    refuseUnless(record.id === id && (version ?? record.version) === record.version, 'conflict')
    refuseUnless(!alive || !hasExpired(record, work.now), 'expired')
  },

  *fence(work, { runId, epoch }) {
    const run = (yield* findRun(work, runId))?.state
    refuseUnless(run?.status === 'running' && run.epoch === epoch, 'fenced')
  },

  *idle({ session }, { exceptCompaction }) {
    if (!session) return
    const kind = exceptCompaction ? 'compaction' : ''
    refuseUnless((yield* first(openRunBut, { session: session.row, kind })) === undefined, 'busy')
  },

  *'none-queued'(work, { except }) {
    refuseUnless((yield* countOtherRuns(work, except)) === 0, 'runs-queued')
  },

  *'some-queued'(work, { except }) {
    refuseUnless((yield* countOtherRuns(work, except)) > 0, 'nothing-queued')
  },

  *'queue-below'(work, { max }) {
    const queued = (yield* countOpenRuns(work)).get('queued') ?? 0
    refuseUnless(queued < max, 'queue-full')
  },

  *run(work, { runId, status, notStopping }) {
    const run = (yield* findRun(work, runId))?.state
    refuseUnless(run !== undefined && status.includes(run.status), 'conflict')
    refuseUnless(!notStopping || !run?.stop, 'stopping')
  },

  // oxlint-disable-next-line require-yield -- what it looks at is there already
  *leaf(work, { entryId }) {
    refuseUnless(sessionOf(work).record.leaf === entryId, 'conflict')
  },

  *'inbox-empty'({ session }, { kinds }) {
    if (!session) return
    const waiting = yield* first(inboxRows, { session: session.row, kinds: JSON.stringify(kinds) })
    refuseUnless(waiting?.rows === 0, 'inputs-waiting')
  },

  *'inbox-below'({ session }, { kind, max }) {
    if (!session) return
    const waiting = yield* first(inboxRows, { session: session.row, kinds: JSON.stringify([kind]) })
    refuseUnless(Number(waiting?.rows) < max, 'queue-full')
  },

  *timer({ session }, { id }) {
    refuseUnless(session !== undefined && (yield* first(timerRow, { session: session.row, id })) !== undefined, 'conflict')
  },
}

/** How many runs other than this one are open. */
function* countOtherRuns(work: Work, runId: string): Steps<number> {
  const counts = [...(yield* countOpenRuns(work)).values()]
  const run = (yield* findRun(work, runId))?.state
  return counts.reduce((sum, runs) => sum + runs, 0) - (run && isOpen(run.status) ? 1 : 0)
}

export function* checkExpectations(work: Work, expected: readonly Expect[]): Steps<void> {
  for (const expect of expected) yield* expectations[expect.that](work, expect as never)
}
