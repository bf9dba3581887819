import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '@bowline/llm'
import { createOrchestrationStateManager, memoryStateStore, SessionError, type StatePatch } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { bench, id, kinds, openStores, startMs, watchedStore } from './support.ts'

const stores = openStores()
const day = 86_400_000
const config = {
  steps: [
    { name: 'plan', isDefault: true, sequence: ['search', 'read'] },
    { name: 'write', conditions: [{ type: 'tool_used', value: 'read' } as const] },
  ],
}
const unavailable = () => {
  throw new SessionError('store-unavailable', 'away')
}

describe('a new state', () => {
  it('O1: has no step, no uses, and the configured lifetime', async () => {
    const { orchestration } = bench()
    expect(await orchestration.getOrCreateState(id)).toEqual({
      sessionId: id,
      recentlyUsedTools: [],
      toolHistory: [],
      sequenceIndex: 0,
      usesInStep: 0,
      cumulativeTokenUsage: { promptTokens: 0, completionTokens: 0, totalTokens: 0 },
      lastAccessed: startMs,
      ttl: day,
      version: 1,
      schemaVersion: 1,
    })
    expect(await orchestration.getState(id)).toEqual(await orchestration.getOrCreateState(id))
  })

  it('O2: is not made by a read, and an unreadable state is not missing', async () => {
    const { orchestration, clock } = bench({ ttlMs: 500 })
    expect(await orchestration.getState(id)).toBeNull()
    expect((await orchestration.listStates()).items).toEqual([])
    await orchestration.getOrCreateState(id)
    await clock.advance(500)
    expect(await orchestration.getState(id)).toBeNull()
    const broken = bench({ store: watchedStore(memoryStateStore(), unavailable) })
    await expect(broken.orchestration.getState(id)).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('O4: is not made for a configuration without steps, but is made without a configuration', async () => {
    const { orchestration } = bench()
    expect(await orchestration.getOrCreateState(id, { steps: [] })).toBeNull()
    expect(await orchestration.getState(id)).toBeNull()
    expect(await orchestration.getOrCreateState(id, config)).toMatchObject({ version: 1 })
    expect(await orchestration.getOrCreateState('room:2')).toMatchObject({ version: 1 })
    expect(await bench({ config: { steps: [] } }).orchestration.getOrCreateState(id)).toBeNull()
  })

  it('O5: is made once by concurrent creators, and a later creator sees what the earlier one has changed', async () => {
    const { orchestration, another } = bench()
    const [one, two] = await Promise.all([orchestration.getOrCreateState(id), another().getOrCreateState(id)])
    expect(one).toEqual(two)
    await orchestration.addUsedTool(id, 'search')
    expect(await another().getOrCreateState(id)).toEqual(await orchestration.getState(id))
    expect(await orchestration.getState(id)).toMatchObject({ version: 2, recentlyUsedTools: ['search'] })
  })

  it('O5: a creator that loses between read and write gets the existing state', async () => {
    const store = memoryStateStore()
    const first = bench({ store }).orchestration
    let came = false
    const late = watchedStore(store, async (call, when) => {
      if (call !== 'compareAndSet' || when !== 'before' || came) return
      came = true
      await first.getOrCreateState(id)
      await first.addUsedTool(id, 'search')
    })
    expect(await bench({ store: late }).orchestration.getOrCreateState(id)).toMatchObject({ version: 2, recentlyUsedTools: ['search'] })
  })

  it('O6: needs a valid id', async () => {
    const { orchestration } = bench({ config })
    for (const wrong of ['', 'a b', 'a::b', 'x'.repeat(257), 'room#', '#run', undefined as never]) {
      await expect(orchestration.getState(wrong)).rejects.toMatchObject({ code: 'invalid-key' })
      await expect(orchestration.getOrCreateState(wrong)).rejects.toMatchObject({ code: 'invalid-key' })
      await expect(orchestration.recordToolUse(wrong, 'search')).rejects.toMatchObject({ code: 'invalid-key' })
      await expect(orchestration.touch(wrong)).rejects.toMatchObject({ code: 'invalid-key' })
      await expect(orchestration.removeState(wrong)).rejects.toMatchObject({ code: 'invalid-key' })
      await expect(orchestration.allowedTools(wrong, ['a'])).rejects.toMatchObject({ code: 'invalid-key' })
    }
    expect((await orchestration.listStates()).items).toEqual([])
  })

  it('O57: accepts a session store, and the older option names', async () => {
    const store = memoryStore()
    const { orchestration, clock } = bench({ store })
    await store.open({ namespace: 'default', owner: 'owner-a', clock })
    await orchestration.getOrCreateState(id)
    const named = createOrchestrationStateManager({ storageProvider: store, storageNamespace: 'orchestration-state', environment: {} })
    expect(await named.getState(id)).toMatchObject({ version: 1 })
    const elsewhere = createOrchestrationStateManager({ storageProvider: store, storageNamespace: 'elsewhere', environment: {} })
    expect(await elsewhere.getState(id)).toBeNull()
  })

  it('O65: an invalid store is refused, and never replaced by memory', () => {
    for (const options of [undefined, { store: {} }, { store: 'memory' }, { store: null }, { storageProvider: null }]) {
      expect(() => createOrchestrationStateManager(options as never)).toThrow(
        /store must be a state store|createOrchestration.options must be an object/,
      )
    }
  })

  it('O65: without a store the states are in memory', async () => {
    const [one, other] = [createOrchestrationStateManager({ environment: {} }), createOrchestrationStateManager({ environment: {} })]
    expect(await one.getOrCreateState(id)).toMatchObject({ version: 1 })
    expect(await one.addUsedTool(id, 'search')).toMatchObject({ version: 2 })
    expect(await other.getState(id)).toBeNull()
  })
})

describe('reading', () => {
  it.each(kinds)('O3: a read soon after the last access changes nothing in %s', async (kind) => {
    const setup = bench({ config })
    const store = await stores[kind](setup.clock)
    const { orchestration } = bench({ config, store }, setup.clock)
    await orchestration.getOrCreateState(id)
    await orchestration.recordToolUse(id, 'search')
    const before = await store.get('orchestration-state', id)
    await setup.clock.advance(1_000)
    await orchestration.getState(id)
    await orchestration.listStates()
    await orchestration.allowedTools(id, ['search', 'read'], { message: 'hello' })
    await orchestration.allowedTools('room:2', ['search'])
    expect(JSON.stringify(await store.get('orchestration-state', id))).toBe(JSON.stringify(before))
    expect(await store.get('orchestration-state', 'room:2')).toEqual({ status: 'missing' })
  })

  it('O20: listStates lists live states page by page, by prefix', async () => {
    const { orchestration, clock } = bench({ ttlMs: 500 })
    for (const name of ['a:1', 'a:2', 'a:3', 'b:1']) await orchestration.getOrCreateState(name)
    await clock.advance(400)
    for (const name of ['a:1', 'a:3', 'b:1']) await orchestration.touch(name)
    await clock.advance(100)
    const first = await orchestration.listStates({ prefix: 'a:', limit: 1 })
    expect(first.items.map((state) => state.sessionId)).toEqual(['a:1'])
    const second = await orchestration.listStates({ prefix: 'a:', limit: 1, page: String(first.next) })
    expect(second.items).toMatchObject([{ sessionId: 'a:3', lastAccessed: startMs + 400 }])
    expect(second.next).toBeUndefined()
  })
})

describe('changing', () => {
  it('O7: a change of a missing state does not create it', async () => {
    const { orchestration } = bench({ config })
    const changes = [
      orchestration.updateState(id, { data: {} }),
      orchestration.updateState(id, () => ({ data: {} })),
      orchestration.setActiveStep(id, 'plan'),
      orchestration.addUsedTool(id, 'search'),
      orchestration.advanceSequence(id),
      orchestration.recordToolUse(id, 'search'),
      orchestration.addTokenUsage(id, { inputTokens: 1 }),
      orchestration.resetState(id),
    ]
    expect(await Promise.all(changes)).toEqual(changes.map(() => null))
    expect([await orchestration.touch(id), await orchestration.removeState(id)]).toEqual([false, false])
    expect(await orchestration.getState(id)).toBeNull()
  })

  it('O8, O59: merges shallowly into a new frozen object, and objects that were returned before stay the same', async () => {
    const { orchestration } = bench()
    const before = await orchestration.getOrCreateState(id)
    const text = JSON.stringify(before)
    const given = { list: [1] }
    const after = await orchestration.updateState(id, { data: given })
    given.list.push(2)
    expect(after).toEqual({ ...before, data: { list: [1] }, version: 2 })
    expect(await orchestration.getState(id)).toEqual(after)
    expect(JSON.stringify(before)).toBe(text)
    for (const frozen of [after, after?.data, after?.data?.['list'], after?.toolHistory, after?.cumulativeTokenUsage, before])
      expect(Object.isFrozen(frozen)).toBe(true)
  })

  it.each(['sessionId', 'version', 'schemaVersion', 'lastAccessed', 'ttl', 'keys', 'anything'])('O9: %s cannot be set', async (field) => {
    const { orchestration } = bench()
    const before = await orchestration.getOrCreateState(id)
    const patch = { [field]: 1 } as StatePatch
    await expect(orchestration.updateState(id, patch)).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining(field) as unknown,
    })
    await expect(orchestration.updateState(id, () => patch)).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await orchestration.getState(id)).toEqual(before)
  })

  it.each([
    { activeStep: '' },
    { activeStep: 1 },
    { sequenceIndex: -1 },
    { usesInStep: 0.5 },
    { recentlyUsedTools: ['a', 'a'] },
    { recentlyUsedTools: Array.from({ length: 11 }, (_, index) => `t${index}`) },
    { toolHistory: [{ tool: 'a' }] },
    { toolHistory: [{ tool: 'a', at: 1, secret: true }] },
    { cumulativeTokenUsage: { promptTokens: 1, completionTokens: 1, totalTokens: 3 } },
    { cumulativeTokenUsage: { totalTokens: 0 } },
    { data: [] },
    { data: { at: new Date(0) } },
    [],
    'activeStep',
  ])('O9: a field must have its type: %o', async (patch) => {
    const { orchestration } = bench()
    const before = await orchestration.getOrCreateState(id)
    await expect(orchestration.updateState(id, patch as StatePatch)).rejects.toMatchObject({ code: 'invalid-input' })
    expect(await orchestration.getState(id)).toEqual(before)
  })

  it('O10: a nested object replaces the old one as a whole', async () => {
    const { orchestration } = bench()
    await orchestration.getOrCreateState(id)
    await orchestration.updateState(id, { data: { a: { x: 1, y: 2 }, b: 1 } })
    expect(await orchestration.updateState(id, { data: { a: { x: 3 } } })).toMatchObject({ data: { a: { x: 3 } } })
    expect((await orchestration.getState(id))?.data).toEqual({ a: { x: 3 } })
    expect(await orchestration.updateState(id, { data: null })).not.toHaveProperty('data')
  })

  it('O12: a used tool is first and once among ten recent tools, and each use is in a history of up to a hundred', async () => {
    const { orchestration } = bench()
    await orchestration.getOrCreateState(id)
    for (let n = 1; n <= 12; n++) await orchestration.addUsedTool(id, `t${n}`)
    await orchestration.addUsedTool(id, 't5', { key: 'call-5' })
    const state = await orchestration.getState(id)
    expect(state?.recentlyUsedTools).toEqual(['t5', 't12', 't11', 't10', 't9', 't8', 't7', 't6', 't4', 't3'])
    expect(state?.toolHistory).toHaveLength(13)
    expect(state?.toolHistory.at(-1)).toEqual({ tool: 't5', at: startMs, key: 'call-5' })
    for (let n = 1; n <= 100; n++) await orchestration.addUsedTool(id, `more${n}`)
    const later = (await orchestration.getState(id))?.toolHistory
    expect([later?.length, later?.[0]?.tool, later?.at(-1)?.tool]).toEqual([100, 'more1', 'more100'])
    await expect(orchestration.addUsedTool(id, '')).rejects.toMatchObject({ code: 'invalid-input' })
  })

  it('O14: a key counts once, whatever the change, as long as it is among the last hundred', async () => {
    const { orchestration, store } = bench({ config })
    await orchestration.getOrCreateState(id)
    const once = await orchestration.recordToolUse(id, 'search', { key: 'k', usage: { inputTokens: 5 } })
    const bytes = JSON.stringify(await store.get('orchestration-state', id))
    expect(await orchestration.recordToolUse(id, 'search', { key: 'k', usage: { inputTokens: 5 } })).toEqual(once)
    expect(await orchestration.addUsedTool(id, 'other', { key: 'k' })).toEqual(once)
    expect(await orchestration.advanceSequence(id, { key: 'k' })).toEqual(once)
    expect(await orchestration.addTokenUsage(id, { inputTokens: 1 }, { key: 'k' })).toEqual(once)
    expect(JSON.stringify(await store.get('orchestration-state', id))).toBe(bytes)
    for (let n = 1; n <= 99; n++) await orchestration.addUsedTool(id, 'other', { key: `k${n}` })
    expect(await orchestration.addUsedTool(id, 'search', { key: 'k' })).toMatchObject({ version: 101 })
    await orchestration.addUsedTool(id, 'other', { key: 'k100' })
    expect(await orchestration.addUsedTool(id, 'search', { key: 'k' })).toMatchObject({ version: 103 })
  })

  it('O17: a reset gives fresh defaults under the next version with the same lifetime, and still ignores keys that were applied', async () => {
    const { orchestration, clock } = bench({ ttlMs: 500 })
    const fresh = await orchestration.getOrCreateState(id)
    await orchestration.updateState(id, { activeStep: 'plan', sequenceIndex: 1, data: { a: 1 } })
    await orchestration.addUsedTool(id, 'search', { key: 'k' })
    await orchestration.addTokenUsage(id, { inputTokens: 5 })
    await clock.advance(100)
    const reset = await orchestration.resetState(id)
    expect(reset).toEqual({ ...fresh, version: 5, lastAccessed: startMs + 100 })
    expect(await orchestration.getState(id)).toEqual(reset)
    expect(await orchestration.addUsedTool(id, 'search', { key: 'k' })).toEqual(reset)
  })

  it('O18: a new active step starts its sequence; the same step writes nothing; an unknown step is refused', async () => {
    const { orchestration } = bench({ config })
    await orchestration.getOrCreateState(id)
    await orchestration.setActiveStep(id, 'plan')
    await orchestration.recordToolUse(id, 'search')
    expect(await orchestration.getState(id)).toMatchObject({ activeStep: 'plan', sequenceIndex: 1, usesInStep: 1, version: 3 })
    expect(await orchestration.setActiveStep(id, 'plan')).toMatchObject({ sequenceIndex: 1, version: 3 })
    expect(await orchestration.setActiveStep(id, 'write')).toMatchObject({
      activeStep: 'write',
      sequenceIndex: 0,
      usesInStep: 0,
      version: 4,
    })
    await expect(orchestration.setActiveStep(id, 'nowhere')).rejects.toMatchObject({
      code: 'invalid-input',
      message: expect.stringContaining('plan, write') as unknown,
    })
    const none = await orchestration.setActiveStep(id, null)
    expect(none).not.toHaveProperty('activeStep')
    expect(await orchestration.setActiveStep(id, null)).toMatchObject({ version: 5 })
    const free = bench()
    await free.orchestration.getOrCreateState(id)
    expect(await free.orchestration.setActiveStep(id, 'anything')).toMatchObject({ activeStep: 'anything' })
  })

  it('O18: a step that is set by a patch starts its sequence too', async () => {
    const { orchestration } = bench({ config })
    await orchestration.getOrCreateState(id)
    await orchestration.updateState(id, { activeStep: 'plan', sequenceIndex: 2 })
    expect(await orchestration.getState(id)).toMatchObject({ activeStep: 'plan', sequenceIndex: 2 })
    expect(await orchestration.updateState(id, { activeStep: 'write' })).toMatchObject({ sequenceIndex: 0, usesInStep: 0 })
  })

  it('O19: tokens are added, and a missing count is 0', async () => {
    const { orchestration } = bench()
    await orchestration.getOrCreateState(id)
    await orchestration.addTokenUsage(id, { inputTokens: 10, outputTokens: 5, totalTokens: 99 })
    await orchestration.addTokenUsage(id, { outputTokens: 2 })
    await orchestration.addTokenUsage(id, {})
    const state = await orchestration.recordToolUse(id, 'search', { usage: { inputTokens: 1 } })
    expect(state?.cumulativeTokenUsage).toEqual({ promptTokens: 11, completionTokens: 7, totalTokens: 18 })
  })

  it('O37: the position stays within the sequence, however it is set', async () => {
    const { orchestration } = bench({ config })
    await orchestration.getOrCreateState(id)
    await orchestration.setActiveStep(id, 'plan')
    for (const position of [1, 2, 2]) expect(await orchestration.advanceSequence(id)).toMatchObject({ sequenceIndex: position })
    expect(await orchestration.updateState(id, { sequenceIndex: 7 })).toMatchObject({ sequenceIndex: 2 })
    expect(await orchestration.setActiveStep(id, 'write')).toMatchObject({ sequenceIndex: 0 })
    expect(await orchestration.advanceSequence(id)).toMatchObject({ sequenceIndex: 0 })
  })

  it('O38: uses are recorded without an active step, until they select a step', async () => {
    const { orchestration } = bench({
      config: { steps: [{ name: 'write', conditions: [{ type: 'tool_count', value: 'read', min: 2 }], tools: { allow: ['write'] } }] },
    })
    await orchestration.getOrCreateState(id)
    const first = await orchestration.recordToolUse(id, 'read')
    expect(first).toMatchObject({ toolHistory: [{ tool: 'read' }] })
    expect(first).not.toHaveProperty('activeStep')
    expect(await orchestration.allowedTools(id, ['read', 'write'])).toMatchObject({ tools: ['read', 'write'] })
    expect(await orchestration.recordToolUse(id, 'read')).toMatchObject({ activeStep: 'write' })
    expect(await orchestration.allowedTools(id, ['read', 'write'])).toEqual({
      step: 'write',
      tools: ['write'],
      reasons: [{ tool: 'read', reason: 'it is not among the allowed tools' }],
    })
  })

  it('O58: a stored value that is not a state, or is of a later version, is reported as such', async () => {
    const { orchestration, store } = bench()
    const values = [7, { schemaVersion: 1 }, { schemaVersion: 1, keys: [], recentlyUsedTools: 'a' }]
    for (const value of values) {
      const read = await store.get('orchestration-state', id)
      await store.compareAndSet('orchestration-state', id, read.status === 'found' ? read.value.version : null, value, { ttlMs: 'never' })
      await expect(orchestration.getState(id)).rejects.toMatchObject({ code: 'store-corrupt' })
    }
    await store.compareAndSet('orchestration-state', id, values.length, { schemaVersion: 2 }, { ttlMs: 'never' })
    await expect(orchestration.getState(id)).rejects.toMatchObject({ code: 'schema-too-new' })
  })

  it('O20, O58: a page contains the readable states and names the unreadable ones', async () => {
    const { orchestration, store } = bench()
    for (const key of ['a', 'd']) await orchestration.getOrCreateState(key)
    await store.compareAndSet('orchestration-state', 'b', null, 7, { ttlMs: 'never' })
    await store.compareAndSet('orchestration-state', 'c', null, { schemaVersion: 2 }, { ttlMs: 'never' })
    const first = await orchestration.listStates({ limit: 3 })
    expect(first.items.map(({ sessionId }) => sessionId)).toEqual(['a'])
    expect(first.unreadable).toMatchObject([
      { sessionId: 'b', code: 'store-corrupt', message: expect.stringContaining('resetState') as unknown },
      { sessionId: 'c', code: 'schema-too-new' },
    ])
    const second = await orchestration.listStates({ limit: 3, ...(first.next !== undefined && { page: first.next }) })
    expect(second.items.map(({ sessionId }) => sessionId)).toEqual(['d'])
    expect(second).not.toHaveProperty('unreadable')
    await orchestration.resetState('b')
    expect((await orchestration.listStates()).items.map(({ sessionId }) => sessionId)).toEqual(['a', 'b', 'd'])
  })

  it('O18, O58: a record with damaged text in the database is named by its key, and resetState repairs it', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'bowline-state-')), 'data.db')
    onTestFinished(() => rm(dirname(file), { recursive: true }))
    const open = sqliteStore({ file })
    await open.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    const made = createOrchestrationStateManager({ store: open })
    for (const key of ['a', 'b']) await made.getOrCreateState(key)
    await open.close()
    const database = new DatabaseSync(file)
    database.exec("update state set value = '{' where id = 'b'")
    database.close()
    const store = sqliteStore({ file })
    await store.open({ namespace: 'default', owner: 'owner-a', clock: systemClock })
    onTestFinished(() => store.close())
    const orchestration = createOrchestrationStateManager({ store })
    await expect(orchestration.listStates()).rejects.toMatchObject({
      code: 'store-corrupt',
      message: expect.stringContaining('orchestration-state b') as unknown,
    })
    expect(await orchestration.resetState('b')).toMatchObject({ sessionId: 'b', toolHistory: [], version: 2 })
    expect((await orchestration.listStates()).items.map(({ sessionId, version }) => [sessionId, version])).toEqual([
      ['a', 1],
      ['b', 2],
    ])
  })
})
