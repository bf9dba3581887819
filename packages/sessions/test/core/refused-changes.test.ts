import { manualClock } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import { coreStore } from '../../src/core/core-store.ts'
import { mostTries } from '../../src/core/transact.ts'
import { memoryRows } from '../../src/rows/memory-rows.ts'
import { memoryStateStore } from '../../src/state/memory-state-store.ts'

const at = 1_750_000_000_000
const session = { id: 'session_1', agent: 'assistant', metadata: {}, at, settings: {} }
const run = { id: 'run_1', kind: 'user', inputHash: 'hash', input: 'hello', at } as const

it('S177: a store that refuses every change ends a commit with store-unavailable and a claim without one', async () => {
  const rows = memoryRows()
  const { write } = rows
  const clock = manualClock(at)
  let isBroken = false
  let refused = 0
  const breaking: typeof write = async (changes) => {
    if (!isBroken) return write(changes)
    refused += 1
    return changes.map(() => false)
  }
  const store = coreStore(Object.assign(rows, { write: breaking }), { loss: 'lease', state: memoryStateStore({ clock }) })
  await store.open({ namespace: 'default', owner: 'owner-a', clock })
  const batch = {
    id: 'batch_1',
    key: 'a',
    expect: [],
    writes: [
      { op: 'session.ensure', session },
      { op: 'run.insert', run },
    ],
  } as const
  isBroken = true
  await expect(store.commit(batch)).rejects.toMatchObject({ code: 'store-unavailable' })
  expect(refused).toBe(mostTries)
  isBroken = false
  expect(await store.commit(batch)).toMatchObject({ ok: true })
  isBroken = true
  const request = { owner: 'owner-a', holds: [], agents: ['assistant'], leaseMs: 30_000, max: 1 }
  expect(await store.claim(request)).toEqual([])
  expect(refused).toBe(mostTries + 1)
  isBroken = false
  expect(await store.claim(request)).toMatchObject([{ run: { id: 'run_1' } }])
})
