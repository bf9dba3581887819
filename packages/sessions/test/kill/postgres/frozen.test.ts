import type { RunHandle, Runtime, Session } from '@bowline/sessions'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { rounds } from '../../../../../scripts/test-length.ts'
import { settleDoubts } from '../../fixtures/paying-client.ts'
import type { StopWhen } from '../../fixtures/stopping-pool.ts'
import { postgresPlace } from '../../../../postgres/test/place.ts'
import { checkLog } from '../../support.ts'
import { expectSound } from '../paying-place.ts'
import type { WorkerMessage } from '../worker-process.ts'
import { startWorld, type WorldProcess } from '../world-process.ts'
import { Crew } from './crew.ts'

// Each test starts several processes.
vi.setConfig({ testTimeout: rounds({ short: 60_000, long: 3_600_000 }) })

/** Commits of a run to stop at. Not its last ones, after which there is nothing to take over. */
const commits = rounds({ short: 1, long: 8 })
const moments = Array.from({ length: commits }, (_, index) => index + 3).flatMap(
  (commit): readonly { commit: number; when: StopWhen }[] => [
    { commit, when: 'behind' },
    { commit, when: 'before' },
  ],
)
const isMoment = (what: string) => (message: WorkerMessage) => message.type === 'moment' && message.what === what

describe('a process over Postgres that is frozen by SIGSTOP while another one takes over', () => {
  const place = postgresPlace()
  let world: WorldProcess
  let crew: Crew
  let client: Runtime
  beforeAll(async () => void (world = await startWorld()))
  afterAll(() => world.end())
  beforeEach(async () => {
    await place.clear()
    crew = new Crew(place.url, world)
    client = await crew.connect()
  })
  afterEach(() => crew.remove())

  async function answered(session: Session, { runId }: RunHandle): Promise<void> {
    await settleDoubts(session, runId)
    await checkLog(session)
  }

  it('S36, S37, S57, S75, S185, S197: in a tool: the tool is aborted, none of its writes is accepted, and the process works on', async () => {
    const frozen = crew.startWorker()
    const session = client.session('room:0', { agent: 'holder' })
    const run = await crew.send(session, 'first')
    await frozen.readUntil(({ type }) => type === 'slow-started')
    frozen.stop()
    const after = frozen.readUntil(({ type }) => type === 'aborted')
    const other = crew.startWorker()
    const said = other.readToEnd()
    await answered(session, run)
    await other.kill()
    await said
    const log = await checkLog(session)
    frozen.goOn()
    await after
    const rest = frozen.readToEnd()
    await answered(session, await crew.send(session, 'next'))
    expect((await checkLog(session)).slice(0, log.length)).toEqual(log)
    const {
      sessions,
      world: { effects },
    } = await crew.end()
    await rest
    const calls = sessions.flatMap((each) => each.calls)
    expect(calls.map(({ name, status, attempt }) => ({ name, status, attempt }))).toMatchObject([
      { name: 'charge', status: 'result' },
      { name: 'hold', status: 'result', attempt: 2 },
      { name: 'charge', status: 'result' },
      { name: 'hold', status: 'result' },
    ])
    expect(effects.map(({ toolName }) => toolName)).toEqual(['charge', 'charge'])
  })

  it.each(moments)(
    'S36, S37, S57, S75, S185, S197: $when the end of its commit $commit: its next write for the run is refused, unless it learns before that it has lost the run',
    async (stopAt) => {
      const frozen = crew.startWorker({ stopAt })
      const session = client.session('room:0')
      const run = await crew.send(session, 'first')
      await frozen.readUntil(isMoment('stopped'))
      const other = crew.startWorker({ stopsAtClaim: true })
      await other.readUntil(isMoment('stopped'))
      // The run is claimed under another epoch, in which nothing was written yet.
      frozen.goOn()
      // The worker leaves the run after a refused write, at a heartbeat, or when its lease has ended by its own clock.
      await frozen.readUntil(isMoment('left'))
      const said = [frozen.readToEnd(), other.readToEnd()]
      other.goOn()
      await answered(session, run)
      expectSound(await crew.end())
      await Promise.all(said)
    },
  )
})
