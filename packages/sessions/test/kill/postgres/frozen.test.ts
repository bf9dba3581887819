import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { RunHandle, Runtime, Session } from '@bowline/sessions'
import { rounds } from '../../../../../scripts/test-length.ts'
import { postgresPlace } from '../../stores/postgres/place.ts'
import { settleDoubts } from '../../fixtures/paying-client.ts'
import type { StopAt } from '../../fixtures/stopping-pool.ts'
import { checkLog } from '../../support.ts'
import { expectSound } from '../paying-place.ts'
import type { WorkerMessage, WorkerProcess } from '../worker-process.ts'
import { startWorld, type WorldProcess } from '../world-process.ts'
import { Crew } from './crew.ts'

// Each test starts several processes.
vi.setConfig({ testTimeout: rounds({ short: 60_000, long: 3_600_000 }) })

/** Ends of transactions of the first worker: its claims, its renewals, and the commits of its runs. */
const commits = rounds({ short: 1, long: 12 })
const moments = Array.from({ length: commits }, (_, index) => index + 4).flatMap((commit): readonly StopAt[] => [
  { commit, when: 'behind' },
  { commit, when: 'before' },
])
const isStopped = (message: WorkerMessage): boolean => message.type === 'moment' && message.what === 'stopped'

describe('a process over Postgres that is frozen by SIGSTOP, until another one has taken over', () => {
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

  /** Another worker ends the run of a frozen one, which then goes on and does the next run alone. */
  async function takeOver(frozen: WorkerProcess, session: Session, { runId }: RunHandle): Promise<void> {
    const other = crew.startWorker()
    const said = other.readToEnd()
    await settleDoubts(session, runId)
    const log = await checkLog(session)
    await other.kill()
    await said
    frozen.goOn()
    const next = await crew.send(session, 'next')
    await settleDoubts(session, next.runId)
    expect((await checkLog(session)).slice(0, log.length)).toEqual(log)
  }

  it('S36, S57, S75, S185, S197: in a tool: the tool is aborted, nothing of it is accepted, and the process works on', async () => {
    const frozen = crew.startWorker()
    const session = client.session('room:0', { agent: 'holder' })
    const run = await crew.send(session, 'first')
    await frozen.readUntil(({ type }) => type === 'slow-started')
    frozen.stop()
    const after = frozen.readUntil(({ type }) => type === 'aborted')
    await takeOver(frozen, session, run)
    await after
    const { sessions, world: { effects } } = await crew.end()
    const calls = sessions.flatMap((session) => session.calls)
    expect(calls.map(({ name, status, attempt }) => ({ name, status, attempt }))).toMatchObject([
      { name: 'charge', status: 'result' },
      { name: 'hold', status: 'result', attempt: 2 },
      { name: 'charge', status: 'result' },
      { name: 'hold', status: 'result' },
    ])
    expect(effects.map(({ toolName }) => toolName)).toEqual(['charge', 'charge'])
  })

  it.each(moments)('S36, S57, S75, S185, S197: $when the end of its transaction $commit: nothing that it still writes is accepted, and it works on', async (stopAt) => {
    const frozen = crew.startWorker({ stopAt })
    const session = client.session('room:0')
    const run = await crew.send(session, 'first')
    await frozen.readUntil(isStopped)
    const after = frozen.readToEnd()
    await takeOver(frozen, session, run)
    expectSound(await crew.end())
    await after
  })
})
