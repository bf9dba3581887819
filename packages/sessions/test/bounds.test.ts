import { systemIds } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { memoryStateStore, type StateStore } from '@bowline/sessions'
import { recordRequests } from '@bowline/sessions/requests'
import { describe, expect, it } from 'vitest'
import { ExpectedDrivers, RunDriver } from '../src/commands/run-driver.ts'
import { IdQueues } from '../src/orchestration/id-queues.ts'
import { RequestLog } from '../src/requests/request-log.ts'
import { TenantBudgets } from '../src/runtime/tenant-budgets.ts'
import { gate } from './support.ts'

/** Returns a state store that counts its reads and lists. */
function counted(): { readonly store: StateStore; readonly count: { gets: number; lists: number } } {
  const inner = memoryStateStore()
  const count = { gets: 0, lists: 0 }
  const store: StateStore = {
    ...inner,
    get: (space, id) => ((count.gets += 1), inner.get(space, id)),
    list: (space, query) => ((count.lists += 1), inner.list(space, query)),
  }
  return { store, count }
}

const prompt = [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }]
const sent = (id: string) => ({ id, purpose: 'answer', attempt: 1, model: { provider: 'p', modelId: 'm' }, request: { prompt } }) as never
const one = { currency: 'USD', input: '1', output: '0', cacheRead: '0', cacheWrite: '0', total: '1' } as const
const place = (runId: string) => ({ runId, turn: 1, step: 1 })

describe('bounds of what one process remembers', () => {
  it('drivers of runs that have not started: the one that has waited longest is dropped', () => {
    const drivers = new ExpectedDrivers(2)
    for (let n = 0; n < 10; n++) {
      drivers.add(`run-${n}`, new RunDriver(1))
      expect([n, n - 1, n - 2].map((each) => drivers.take(`run-${each}`) !== undefined)).toEqual([true, n > 0, false])
      for (const each of [n - 1, n]) drivers.add(`run-${each}`, new RunDriver(1))
    }
  })

  it('accounts of tenants: idle ones are dropped and read again, and no amount is lost', async () => {
    const { store, count } = counted()
    const options = {
      maxCost: '100',
      window: 'day',
      store,
      ownState: () => store,
      namespace: 'n',
      clock: manualClock(1),
      ids: systemIds,
    } as const
    const budgets = new TenantBudgets({ ...options, mostAccounts: 3 })
    const charge = async (tenant: string): Promise<void> => {
      const budget = await budgets.budgetFor({ key: `tenant:${tenant}:s`, metadata: {} })
      await budget?.charge({ usage: {}, cost: one })
    }
    const tenants = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
    for (let round = 0; round < 4; round++) for (const tenant of tenants) await charge(tenant)
    // Each is read before each of its writes, because four others were used since.
    expect(count.gets).toBe(4 * tenants.length)
    for (let more = 0; more < 4; more++) await charge('g')
    expect(count.gets).toBe(4 * tenants.length)
    const spent = await Promise.all(tenants.map(async (tenant) => (await budgets.spending(tenant)).spent?.total))
    expect(spent).toEqual(['4', '4', '4', '4', '4', '4', '8'])
  })

  it('last requests of sessions: the least recently used is dropped and read again, and each request is recorded', async () => {
    const { store, count } = counted()
    const requests = recordRequests({ store })
    const sessions = Array.from({ length: 101 }, (_, n) => `room:${n}`)
    const record = async (sessionKey: string, round: number): Promise<void> => {
      const context = { ...place(`run-${round}`), sessionKey }
      await requests.extension.hooks?.onModelRequest?.(sent(`${sessionKey} ${round}`), context as never)
    }
    for (let round = 0; round < 3; round++) for (const session of sessions) await record(session, round)
    expect(count.lists).toBe(3 * sessions.length)
    await record('room:100', 3)
    expect(count.lists).toBe(3 * sessions.length)
    expect((await requests.list('room:0')).items.map(({ id }) => id)).toEqual(['room:0 2', 'room:0 1', 'room:0 0'])
  })

  it('changes of one orchestration state: so many wait, more are refused until there is room, and other states go on', async () => {
    const queues = new IdQueues(3)
    let held = gate()
    const done: string[] = []
    const add = (id: string, name: string) => queues.add(id, async () => (await held.passed, done.push(name)))
    for (let round = 0; round < 3; round++) {
      const waiting = ['1', '2', '3'].map((name) => add('a', name))
      await expect(add('a', '4')).rejects.toMatchObject({
        code: 'queue-full',
        message: expect.stringContaining('limit of 3 pending') as unknown,
      })
      const other = add('b', 'other')
      held.open()
      await Promise.all([...waiting, other])
      held = gate()
      expect(done.splice(0).sort()).toEqual(['1', '2', '3', 'other'])
    }
  })

  it('requests that are not yet recorded: ten wait for the store, more are refused until it answers', async () => {
    const inner = memoryStateStore()
    let held = gate()
    const store: StateStore = { ...inner, compareAndSet: async (...given) => (await held.passed, inner.compareAndSet(...given)) }
    const log = new RequestLog('room:1', {
      store,
      space: 's',
      maxRequests: 100,
      maxBytes: 1e6,
      ttlMs: 'never',
      redact: (message) => message,
    })
    for (let round = 1; round <= 3; round++) {
      const waiting = Array.from({ length: 10 }, (_, n) => log.add(sent(`${round} ${n}`), place(`run-${round}`), 1))
      await expect(log.add(sent('one more'), place('run'), 1)).rejects.toMatchObject({ code: 'queue-full' })
      held.open()
      await Promise.all(waiting)
      held = gate()
      expect((await inner.list('s', {})).items).toHaveLength(10 * round)
    }
  })
})
