import type { Expect } from '../../store/contract.ts'
import { Refused, refuseUnless } from '../refused.ts'
import { countOpenRuns, findRun } from './work.ts'
import type { Work } from './work.ts'

type Expectations = { readonly [T in Expect['that']]: (work: Work, expect: Extract<Expect, { that: T }>) => Promise<void> }

/** Each refuses the batch when it does not hold. */
const expectations: Expectations = {
  async session({ session }, { id, version }) {
    if (id === null) return refuseUnless(!session, 'conflict')
    if (!session) throw new Refused('missing')
    const { record } = session
    refuseUnless(record.id === id && (version ?? record.version) === record.version, 'conflict')
  },

  async fence(work, { runId, epoch }) {
    const run = (await findRun(work, runId))?.state
    refuseUnless(run?.status === 'running' && run.epoch === epoch, 'fenced')
  },

  async idle(work) {
    refuseUnless((await countOpenRuns(work)).size === 0, 'busy')
  },

  async 'none-queued'({ connection, session }, { except }) {
    if (!session) return
    const other = await connection
      .selectFrom('run')
      .select('row')
      .where('session', '=', session.row)
      .where('ended_at', 'is', null)
      .where('id', '<>', except)
      .limit(1)
      .executeTakeFirst()
    refuseUnless(!other, 'runs-queued')
  },

  async 'queue-below'(work, { max }) {
    const queued = (await countOpenRuns(work)).get('queued') ?? 0
    refuseUnless(queued < max, 'queue-full')
  },

  async run(work, { runId, status, notStopping }) {
    const run = (await findRun(work, runId))?.state
    refuseUnless(run !== undefined && status.includes(run.status), 'conflict')
    refuseUnless(!notStopping || !run?.stop, 'stopping')
  },
}

export async function checkExpectations(work: Work): Promise<void> {
  for (const expect of work.batch.expect) await expectations[expect.that](work, expect as never)
}
