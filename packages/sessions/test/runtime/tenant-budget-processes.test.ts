import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { addCost, systemClock, type Clock, type Cost } from '@bowline/llm'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { afterEach, describe, expect, it } from 'vitest'
import { program } from '../../../../scripts/programs.ts'
import { isRedisUrlMissing, sharedRedis } from '../../../../scripts/redis.ts'
import { pricedAgent, usage } from '../fixtures/priced-agent.ts'
import { WorkerProcess, type WorkerMessage } from '../kill/worker-process.ts'
import { newPrefix } from '../../../redis/test/redis-support.ts'
import { openStateAt, type StatePlace } from '../state/state-place.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'

const redis = isRedisUrlMissing ? undefined : sharedRedis()
const postgres = postgresPlace()
const newFolder = temporaryFolders()
const workers: WorkerProcess[] = []
afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.kill())))

const wholeTime = 4_000_000_000_000_000

const places: Readonly<Record<'redis' | 'postgres' | 'sqlite', () => Promise<StatePlace>>> = {
  redis: async () => ({ kind: 'redis', url: redis?.url ?? '', prefix: newPrefix() }),
  async postgres() {
    await (await postgres.empty()).close()
    return { kind: 'postgres', connectionString: postgres.url }
  },
  sqlite: async () => ({ kind: 'sqlite', file: join(newFolder(), 'state.db') }),
}

function spend(place: StatePlace, maxCost: string, runs: number, mode: 'spend' | 'hang'): WorkerProcess {
  const worker = new WorkerProcess(program('sessions/test/fixtures/spending-process'), [JSON.stringify(place), maxCost, String(runs), mode])
  workers.push(worker)
  return worker
}

const wasAsked = (message: WorkerMessage): boolean => message.type === 'moment'

/** Creates a clock that is ahead of the system clock. */
function later(ms: number): Clock {
  return { now: () => systemClock.now() + ms, setTimer: (atMs, run, options) => systemClock.setTimer(atMs - ms, run, options) }
}

const costOf = (total: string): Cost => ({ currency: 'USD', total, input: total, cacheRead: '0', cacheWrite: '0', output: '0' })

/** Without SQLite, which opens a file for one process at a time. */
describe.each(['redis', 'postgres'] as const)('a budget per tenant on %s', (kind) => {
  it.skipIf(kind === 'redis' && redis === undefined)(
    'A197: processes that spend at the same time count each call once and spend no more than the budget',
    async () => {
      const place = await places[kind]()
      const said = (await Promise.all([1, 2, 3].map(() => spend(place, '0.02', 6, 'spend').readToEnd()))).flat()
      const ends = said.flatMap((message) => (message.type === 'spent' ? [message] : []))
      const done = ends.filter(({ status }) => status === 'completed')
      expect(ends).toHaveLength(18)
      expect(ends.filter(({ status }) => status !== 'completed' && status !== 'limit')).toEqual([])
      expect(done.length).toBeLessThanOrEqual(10)
      const store = openStateAt(place)
      const runtime = createRuntime({ agents: [pricedAgent([])], tenantBudget: { store, maxCost: '0.02', window: wholeTime } })
      const { spent, reserved } = await runtime.tenantSpending('acme')
      expect(spent?.total).toBe(done.reduce<Cost | undefined>((sum, { cost = '0' }) => addCost(sum, costOf(cost)), undefined)?.total)
      expect(reserved).toBeUndefined()
      await runtime.stop()
      await store.close()
    },
  )
})

describe.each(['redis', 'postgres', 'sqlite'] as const)('a budget per tenant on %s, with a killed process', (kind) => {
  it.skipIf(kind === 'redis' && redis === undefined)(
    'A197: a reservation of a killed process is released after its lease, and not before',
    async () => {
      const place = await places[kind]()
      const worker = spend(place, '0.003', 1, 'hang')
      await worker.readUntil(wasAsked)
      await worker.kill()
      const store = openStateAt(place)
      const runtimeAt = (ms: number) =>
        createRuntime({
          agents: [pricedAgent(() => ({ text: 'done', usage }))],
          clock: later(ms),
          tenantBudget: { store, maxCost: '0.003', window: wholeTime },
        })
      const [now, then] = [runtimeAt(0), runtimeAt(600_000)]
      expect((await now.tenantSpending('acme')).reserved?.total).toBe('0.002001')
      expect((await (await now.session('tenant:acme:1').send('go')).result()).status).toBe('limit')
      expect((await (await then.session('tenant:acme:1').send('go')).result()).status).toBe('completed')
      expect(await then.tenantSpending('acme')).toMatchObject({ spent: { total: '0.002' }, left: 0.001 })
      await Promise.all([now.stop(), then.stop()])
      await store.close()
    },
  )
})

describe('a budget per tenant in the store of the sessions', () => {
  it('A197: if a process is killed in a call, the run counts what it reports, and the reservation stays until its lease is over', async () => {
    const file = join(newFolder(), 'data.db')
    const worker = new WorkerProcess(program('sessions/test/fixtures/spending-process'), [
      JSON.stringify({ kind: 'session-store', file }),
      '1',
      '1',
      'hang',
    ])
    workers.push(worker)
    await worker.readUntil(wasAsked)
    await worker.kill()
    const runtimeAt = (ms: number) =>
      createRuntime({
        agents: [pricedAgent(() => ({ text: 'done', usage }))],
        clock: later(ms),
        store: sqliteStore({ file }),
        tenantBudget: { maxCost: '1', window: wholeTime },
      })
    const runtime = runtimeAt(0)
    await runtime.start()
    const session = runtime.session('tenant:acme:0')
    while ((await session.info())?.status !== 'completed') await setTimeout(10)
    // The estimate of the lost call, and the cost of the repeated one.
    const { total } = await session.usage()
    const spending = await runtime.tenantSpending('acme')
    expect(spending.spent?.total).toBe(total.cost?.total)
    expect(Number(total.cost?.total)).toBeGreaterThan(0.002)
    expect(spending.reserved?.total).toBe('0.002001')
    await runtime.stop()
    const then = runtimeAt(600_000)
    expect(await then.tenantSpending('acme')).not.toHaveProperty('reserved')
    await then.stop()
  })
})
