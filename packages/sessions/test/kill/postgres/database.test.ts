import { SessionError } from '@bowline/sessions'
import { migratePostgres } from '@bowline/postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startPostgres, type PostgresServer } from '../../../../../scripts/postgres.ts'
import { rounds, testSeed } from '../../../../../scripts/test-length.ts'
import { seededRandom } from '../../../../testing/src/crash-kit/seeded-random.ts'
import { ask, placeOf } from '../../../../postgres/test/clients.ts'
import { wireProxies, type Cut } from '../../../../postgres/test/wire-proxy.ts'
import { expectSound } from '../paying-place.ts'
import type { WorkerMessage, WorkerProcess } from '../worker-process.ts'
import { startWorld, type WorldProcess } from '../world-process.ts'
import { Crew } from './crew.ts'

// Each test starts several processes.
vi.setConfig({ testTimeout: rounds({ short: 60_000, long: 3_600_000 }) })

const sessions = rounds({ short: 3, long: 25 })
const inputsPerSession = 2
const restarts = rounds({ short: 2, long: 12 })
const mostMoments = 30

describe('a Postgres server that fails while two processes work', () => {
  const startProxy = wireProxies()
  let server: PostgresServer
  let world: WorldProcess
  let crew: Crew
  beforeAll(async () => {
    world = await startWorld()
    server = await startPostgres()
  })
  afterAll(async () => {
    await world.end()
    await server.stop()
  })
  afterEach(() => crew.remove())

  beforeEach(async () => {
    await ask(placeOf(server.url), 'drop schema if exists bowline cascade')
    await migratePostgres({ connectionString: server.url })
    crew = new Crew(server.url, world)
    await crew.connect()
  })

  /** Expects that no process has ended, and that each reported no fault except `store-unavailable`. */
  async function expectAlive(workers: readonly WorkerProcess[], said: readonly Promise<WorkerMessage[]>[]): Promise<void> {
    expect(workers.map(({ isRunning }) => isRunning)).toEqual(workers.map(() => true))
    expectSound(await crew.end())
    const messages = (await Promise.all(said)).flat()
    const codes = messages.flatMap((message) => (message.type === 'fault' ? message.code : []))
    const ofClient = crew.faults.map((error) => (SessionError.isInstance(error) ? error.code : String(error)))
    expect([...codes, ...ofClient].filter((code) => code !== 'store-unavailable')).toEqual([])
  }

  it(`S12, S14, S34, S38, S75, S84, S197, S199: ended at once and started again ${restarts} times, from seed ${testSeed}: no process ends, all runs end, each accepted input is answered`, async () => {
    // The second worker starts while there is no server.
    await server.end()
    const second = crew.startWorker()
    await second.readUntil(({ type }) => type === 'fault')
    await server.start()
    await second.readUntil(({ type }) => type === 'started')
    const workers = [crew.startWorker(), second] as const
    const said = [second.readToEnd()]
    const random = seededRandom(testSeed)
    const done = crew.sendAll(sessions, inputsPerSession)
    for (let restart = 0; restart < restarts; restart++) {
      const last = 1 + Math.floor(random() * mostMoments)
      let seen = 0
      await Promise.race([workers[0].readUntil(({ type }) => type === 'moment' && ++seen >= last), done])
      await server.restart()
    }
    said.push(workers[0].readToEnd())
    await done
    await expectAlive(workers, said)
  })

  it('S38, S84, S195, S197: with connections that are lost at COMMIT: each commit is applied once', async () => {
    const proxy = await startProxy(server.url)
    const cuts: readonly Cut[] = ['behind', 'terminate', 'before']
    let commits = 0
    let cut = 0
    proxy.cut = (text) => (text === 'commit' && ++commits % 7 === 0 ? cuts[cut++ % cuts.length] : undefined)
    const worker = crew.startWorker({ url: proxy.url })
    const said = worker.readToEnd()
    await crew.sendAll(sessions, inputsPerSession)
    expect(cut).toBeGreaterThanOrEqual(cuts.length)
    await expectAlive([worker], [said])
  })
})
