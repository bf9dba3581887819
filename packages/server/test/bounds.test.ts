import { systemClock } from '@bowline/llm'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { RunningRuns } from '../src/rate/running-runs.ts'
import { sessionKey } from '../src/session-keys.ts'
import { gate } from './support/bench.ts'

/** Limits the runs of tenants in an empty store to one each. Remembers so many tenants. */
async function limited(tenants: number) {
  let lists = 0
  const inner = memoryStore()
  await inner.open({ namespace: 'default', owner: 'tests', clock: systemClock })
  const listSessions: SessionStore['listSessions'] = (query) => {
    lists += 1
    return inner.listSessions(query)
  }
  const runs = new RunningRuns({
    runtime: { store: { ...inner, listSessions } },
    limit: 1,
    clock: systemClock,
    most: { tenants, seen: 1000 },
  })
  const input = (tenant: string, id = 'a', work = () => Promise.resolve()) => runs.within(tenant, sessionKey(tenant, id), work)
  return { input, lists: () => lists }
}

describe('bounds of what one server remembers', () => {
  it('V77: so many tenants are remembered, the last that sent an input; the others are read again', async () => {
    const { input, lists } = await limited(2)
    for (let round = 1; round <= 3; round++) {
      for (const tenant of ['red', 'green', 'blue']) await input(tenant)
      expect(lists()).toBe(3 * round)
      for (const tenant of ['green', 'blue', 'red']) await input(tenant)
      expect(lists()).toBe(3 * round + 1)
    }
  })

  it('V77: a tenant whose input is being stored is not forgotten, however many others come', async () => {
    const { input } = await limited(1)
    const [begun, arrived] = [gate(), gate()]
    const first = input('red', 'a', async () => {
      begun.open()
      await arrived.passed
    })
    await begun.passed
    for (const tenant of ['green', 'blue', 'white']) await input(tenant)
    await expect(input('red', 'b')).rejects.toMatchObject({ code: 'too-many-runs' })
    arrived.open()
    await first
    await input('red', 'b')
  })
})
