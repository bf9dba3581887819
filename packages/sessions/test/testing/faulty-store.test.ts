import { manualClock } from '@bowline/llm/testing'
import type { Batch, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { type FaultPlan, faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { gate } from '../support.ts'

const session = { id: 'session-1', agent: 'assistant', metadata: {}, at: 0 }
const run = { id: 'run-1', kind: 'user', inputHash: 'hash', input: 'go', at: 0 } as const
const batch = (id: string): Batch => ({ id, key: 'room:1', expect: [], writes: [{ op: 'session.ensure', session }] })
const unavailable = { code: 'store-unavailable', retryable: true }

async function opened(faults: FaultPlan): Promise<{ readonly memory: SessionStore; readonly store: SessionStore }> {
  const memory = memoryStore()
  const store = faultyStore(memory, faults)
  await store.open({ namespace: 'default', clock: manualClock(), owner: 'owner' })
  return { memory, store }
}

async function versionOf(store: SessionStore): Promise<number> {
  const read = await store.readSession('room:1')
  return read.status === 'found' ? read.value.version : 0
}

describe('a faulty store', () => {
  it('S40: unavailable: the call does not reach the store, for the given number of calls', async () => {
    const { memory, store } = await opened([{ of: 'commit', skip: 1, times: 2, fault: 'unavailable' }])
    await store.commit(batch('a'))
    await expect(store.commit(batch('b'))).rejects.toMatchObject(unavailable)
    await expect(store.commit(batch('b'))).rejects.toMatchObject(unavailable)
    expect(await versionOf(memory)).toBe(1)
    expect(await store.commit(batch('b'))).toMatchObject({ ok: true, version: 2 })
  })

  it('S35: answer-lost: the store applies the call, and knows the same batch when it is repeated', async () => {
    const { memory, store } = await opened([{ of: 'commit', times: 1, fault: 'answer-lost' }])
    await expect(store.commit(batch('a'))).rejects.toMatchObject(unavailable)
    expect(await versionOf(memory)).toBe(1)
    expect(await store.commit(batch('a'))).toMatchObject({ ok: true, version: 1 })
  })

  it('S40: any operation except opening and closing can fail', async () => {
    let away = true
    const { store } = await opened([{ of: 'any', when: (operation) => away && operation !== 'renew', fault: 'unavailable' }])
    await expect(store.readRun('run-1')).rejects.toMatchObject(unavailable)
    await expect(store.commit(batch('a'))).rejects.toMatchObject(unavailable)
    expect(await store.renew([], 1)).toEqual([])
    away = false
    expect(await store.readRun('run-1')).toEqual({ status: 'missing' })
    await store.close()
  })

  it('S61: only calls that match fail, with the error of the rule', async () => {
    const error = new Error('disk on fire')
    const { store } = await opened([{ of: 'commit', when: ({ id }) => id === 'bad', fault: { error } }])
    await store.commit(batch('good'))
    await expect(store.commit(batch('bad'))).rejects.toBe(error)
    await store.commit(batch('also good'))
  })

  it('S58: the test can set the answer, for example of a refused renewal', async () => {
    const { store } = await opened([{ of: 'renew', fault: { answer: (leases) => leases.map(({ runId }) => ({ runId, held: false })) } }])
    await store.commit({ ...batch('a'), writes: [...batch('a').writes, { op: 'run.insert', run }] })
    const [claim] = await store.claim({ owner: 'owner', max: 1, leaseMs: 1000, agents: ['assistant'], holds: [] })
    expect(await store.renew([{ runId: 'run-1', epoch: claim?.run.epoch ?? 0 }], 1000)).toEqual([{ runId: 'run-1', held: false }])
  })

  it.each([
    { at: 'before', reached: 0 },
    { at: 'after', reached: 1 },
  ] as const)('S46: a call waits for the test $at the store has it', async ({ at, reached }) => {
    const [waits, go] = [gate(), gate()]
    const waitFor = (): Promise<void> => {
      waits.open()
      return go.passed
    }
    const { memory, store } = await opened([{ of: 'commit', fault: { at, waitFor } }])
    let isDone = false
    const committing = store.commit(batch('a')).then(() => (isDone = true))
    await waits.passed
    expect(await versionOf(memory)).toBe(reached)
    expect(isDone).toBe(false)
    go.open()
    await committing
    expect(await versionOf(memory)).toBe(1)
  })

  it('S40: of several matching rules the first applies', async () => {
    const { store } = await opened([
      { of: 'commit', times: 1, fault: { error: new Error('first') } },
      { of: 'commit', times: 1, fault: { error: new Error('second') } },
    ])
    await expect(store.commit(batch('a'))).rejects.toThrow('first')
    await expect(store.commit(batch('a'))).rejects.toThrow('second')
    expect(await store.commit(batch('a'))).toMatchObject({ ok: true })
  })

  it('S11: other properties of the store stay as they are', async () => {
    const memory = memoryStore()
    const store = faultyStore(memory, [])
    expect(store.name).toBe('memory')
    expect(store.capabilities).toBe(memory.capabilities)
    expect(store.second()).toMatchObject({ name: 'memory' })
  })
})
