import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import type { MemoryStore } from '../../src/memory.ts'
import { testWholeStore } from './whole-store.ts'

testWholeStore({
  name: 'memory',
  create: async () => memoryStore(),
  reopen: async (store) => store,
  second: async (store) => (store as MemoryStore).second(),
  limitsRecords: false,
  loss: 'lease',
})

it('S181: its content ends with it, as its capabilities say; no record is too long for it', async () => {
  const clock = manualClock()
  const [store, other] = [memoryStore(), memoryStore()]
  for (const each of [store, other]) await each.open({ namespace: 'default', clock, owner: 'owner-a' })
  expect(store.capabilities).toEqual({ durable: 'none', processes: 'one', maxRecordBytes: Number.MAX_SAFE_INTEGER })
  const metadata = { long: 'x'.repeat(17 * 1024 * 1024) }
  const session = { id: 'first', agent: 'assistant', metadata, at: 0 }
  expect(await store.commit({ id: 'batch', key: 'room:1', expect: [], writes: [{ op: 'session.ensure', session }] })).toMatchObject({
    ok: true,
  })
  expect(await other.readSession('room:1')).toEqual({ status: 'missing' })
  for (const each of [store, other]) await each.close()
})
