import type { Expect } from '../../store/contract.ts'
import { Refused, refuseUnless } from '../refused.ts'
import { isOpen } from '../rules.ts'
import type { Steps } from './statement.ts'
import { countOpenRuns, findRun } from './work.ts'
import type { Work } from './work.ts'

type Expectations = { readonly [T in Expect['that']]: (work: Work, expect: Extract<Expect, { that: T }>) => Steps<void> }

/** Each refuses the batch when it does not hold. */
const expectations: Expectations = {
  // eslint-disable-next-line require-yield -- what it looks at is there already
  *session({ session }, { id, version }) {
    if (id === null) return refuseUnless(!session, 'conflict')
    if (!session) throw new Refused('missing')
    const { record } = session
    refuseUnless(record.id === id && (version ?? record.version) === record.version, 'conflict')
  },

  *fence(work, { runId, epoch }) {
    const run = (yield* findRun(work, runId))?.state
    refuseUnless(run?.status === 'running' && run.epoch === epoch, 'fenced')
  },

  *idle(work) {
    refuseUnless((yield* countOpenRuns(work)).size === 0, 'busy')
  },

  *'none-queued'(work, { except }) {
    const counts = [...(yield* countOpenRuns(work)).values()]
    const excepted = (yield* findRun(work, except))?.state
    const others = counts.reduce((sum, runs) => sum + runs, 0) - (excepted && isOpen(excepted.status) ? 1 : 0)
    refuseUnless(others === 0, 'runs-queued')
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
}

export function* checkExpectations(work: Work): Steps<void> {
  for (const expect of work.batch.expect) yield* expectations[expect.that](work, expect as never)
}
