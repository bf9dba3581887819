import { describe, expect, it } from 'vitest'
import { memoryStateStore, SessionError } from '@bowline/sessions'
import { bench, drawn, id, kinds, openStores, throughWaits, watchedStore } from './support.ts'

const stores = openStores()
const sequence = Array.from({ length: 12 }, (_, index) => `s${index}`)
const config = { steps: [{ name: 'plan', isDefault: true, sequence }] }
const away = () => new SessionError('store-unavailable', 'away')

describe.each(kinds)('several managers over one store in %s', (kind) => {
  it('O13: record every use, and advance no further than the sequence', async () => {
    const { clock } = bench()
    const store = await stores[kind](clock)
    const managers = [1, 2, 3, 4].map((seed) => bench({ store, config, random: drawn(seed) }, clock).orchestration)
    await managers[0]?.getOrCreateState(id)
    await managers[0]?.setActiveStep(id, 'plan')
    const uses = managers.flatMap((manager, index) => Array.from({ length: 10 }, (_, n) => manager.addUsedTool(id, `t${index}-${n}`)))
    await throughWaits(clock, Promise.all(uses))
    expect((await managers[1]?.getState(id))?.toolHistory).toHaveLength(40)
    const advance = (times: number) =>
      Promise.all(managers.flatMap((manager) => Array.from({ length: times }, () => manager.advanceSequence(id))))
    await throughWaits(clock, advance(2))
    expect(await managers[2]?.getState(id)).toMatchObject({ sequenceIndex: 8 })
    await throughWaits(clock, advance(2))
    expect(await managers[3]?.getState(id)).toMatchObject({ sequenceIndex: sequence.length })
  })

  it('O14: the same key counts once, even if several managers use it', async () => {
    const { clock } = bench()
    const store = await stores[kind](clock)
    const managers = [1, 2, 3].map((seed) => bench({ store, config, random: drawn(seed) }, clock).orchestration)
    await managers[0]?.getOrCreateState(id)
    await throughWaits(clock, Promise.all(managers.map((manager) => manager.recordToolUse(id, 's0', { key: 'call-1' }))))
    expect(await managers[0]?.getState(id)).toMatchObject({ version: 2, toolHistory: [{ tool: 's0', key: 'call-1' }] })
  })

  it('O16: neither a touch nor a late write restores a state that was reset or removed', async () => {
    const { clock } = bench()
    const store = await stores[kind](clock)
    const other = bench({ store }, clock).orchestration
    let interfere: (() => Promise<unknown>) | undefined
    const slow = watchedStore(store, async (call, when) => {
      const now = interfere
      if (when !== 'before' || !now || call === 'get') return
      interfere = undefined
      await now()
    })
    const late = bench({ store: slow }, clock).orchestration
    await late.getOrCreateState(id)
    await late.addUsedTool(id, 'old')
    interfere = () => other.resetState(id)
    expect(await late.updateState(id, ({ toolHistory }) => ({ data: { seen: toolHistory.length } }))).toMatchObject({
      data: { seen: 0 },
      toolHistory: [],
    })
    interfere = () => other.removeState(id)
    expect(await late.addUsedTool(id, 'late')).toBeNull()
    expect(await other.getState(id)).toBeNull()
    await other.getOrCreateState(id)
    interfere = () => other.removeState(id)
    expect(await late.touch(id)).toBe(false)
    expect(await other.getState(id)).toBeNull()
  })
})

describe('a conflict', () => {
  it('O11: calls the function again with the newest state; if it throws, the record stays as it was', async () => {
    const { orchestration, store, another } = bench()
    await orchestration.getOrCreateState(id)
    let interfered = false
    const slow = watchedStore(store, async (call, when) => {
      if (call !== 'compareAndSet' || when !== 'before' || interfered) return
      interfered = true
      await another().addUsedTool(id, 'between')
    })
    const seen: number[] = []
    const late = bench({ store: slow }).orchestration
    await late.updateState(id, (state) => {
      seen.push(state.toolHistory.length)
      return { data: { uses: state.toolHistory.length } }
    })
    expect(seen).toEqual([0, 1])
    const before = await orchestration.getState(id)
    expect(before?.data).toEqual({ uses: 1 })
    const failure = new Error('mine')
    await expect(
      orchestration.updateState(id, () => {
        throw failure
      }),
    ).rejects.toBe(failure)
    expect(await orchestration.getState(id)).toEqual(before)
    expect(await orchestration.addUsedTool(id, 'goes on')).toMatchObject({ version: Number(before?.version) + 1 })
  })

  it('O15: is retried twenty times with growing waits, then reported, and nothing was overwritten', async () => {
    const { orchestration, store, clock, another } = bench()
    await orchestration.getOrCreateState(id)
    let tries = 0
    const contested = watchedStore(store, async (call, when) => {
      if (call !== 'compareAndSet' || when !== 'before') return
      tries++
      await another().addUsedTool(id, `other ${tries}`)
    })
    const waits: number[] = []
    const timed = {
      now: () => clock.now(),
      setTimer: (atMs: number, run: () => void) => (waits.push(atMs - clock.now()), clock.setTimer(atMs, run)),
    }
    const late = bench({ store: contested, clock: timed, random: () => 0.999 }).orchestration
    await expect(throughWaits(clock, late.addUsedTool(id, 'late'))).rejects.toMatchObject({ code: 'conflict' })
    expect(tries).toBe(21)
    expect(waits).toHaveLength(20)
    expect(waits.slice(0, 7)).toEqual([1, 3, 7, 15, 31, 63, 63])
    const state = await orchestration.getState(id)
    expect(state?.toolHistory.map(({ tool }) => tool)).toEqual(Array.from({ length: 21 }, (_, n) => `other ${n + 1}`))
  })

  it('O15: the changes of one process wait for each other, so they do not conflict', async () => {
    const { orchestration, store } = bench()
    await orchestration.getOrCreateState(id)
    const watched = watchedStore(store)
    const { orchestration: alone } = bench({ store: watched })
    await Promise.all(Array.from({ length: 50 }, (_, n) => alone.addUsedTool(id, `t${n}`)))
    expect(watched.calls.filter((call) => call === 'compareAndSet')).toHaveLength(50)
  })
})

describe('a write whose answer is lost', () => {
  const setup = async (fails: (write: number, when: 'before' | 'after') => boolean) => {
    let writes = 0
    const store = memoryStateStore()
    const flaky = watchedStore(store, (call, when) => {
      if (call !== 'compareAndSet') return
      if (when === 'before') writes++
      if (fails(writes, when)) throw away()
    })
    return { store, flaky, orchestration: bench({ store: flaky }).orchestration, direct: bench({ store }).orchestration }
  }

  it('O64: is read back: if it was stored, it counts once', async () => {
    const { orchestration, direct, flaky } = await setup((_write, when) => when === 'after')
    expect(await orchestration.getOrCreateState(id)).toMatchObject({ version: 1 })
    expect(await orchestration.addUsedTool(id, 'search')).toMatchObject({ version: 2 })
    expect(await orchestration.addUsedTool(id, 'search', { key: 'k' })).toMatchObject({ version: 3 })
    expect(flaky.calls.filter((call) => call === 'compareAndSet')).toHaveLength(3)
    expect((await direct.getState(id))?.toolHistory).toHaveLength(2)
  })

  it('O64: is an error if it was not stored', async () => {
    const { orchestration, direct } = await setup((write, when) => write === 2 && when === 'before')
    await orchestration.getOrCreateState(id)
    await expect(orchestration.addUsedTool(id, 'search', { key: 'k' })).rejects.toMatchObject({ code: 'store-unavailable' })
    expect((await direct.getState(id))?.toolHistory).toEqual([])
    expect(await orchestration.addUsedTool(id, 'search', { key: 'k' })).toMatchObject({ version: 2 })
  })

  it('O64: is found even if another writer has written after it', async () => {
    const store = memoryStateStore()
    const direct = bench({ store }).orchestration
    const lost = watchedStore(store, async (call, when) => {
      if (call !== 'compareAndSet' || when !== 'after') return
      await direct.addUsedTool(id, 'between')
      throw away()
    })
    const { orchestration } = bench({ store: lost })
    await direct.getOrCreateState(id)
    expect(await orchestration.addUsedTool(id, 'mine')).not.toBeNull()
    expect((await direct.getState(id))?.toolHistory.map(({ tool }) => tool)).toEqual(['mine', 'between'])
  })
})

describe('the number of store calls', () => {
  it('O66: is two for a recorded use, and one for a read', async () => {
    const store = watchedStore(memoryStateStore())
    const { orchestration } = bench({ store, config })
    await orchestration.getOrCreateState(id)
    const callsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
      const before = store.calls.length
      await work()
      return store.calls.slice(before)
    }
    expect(await callsOf(() => orchestration.recordToolUse(id, 's0', { key: 'k', usage: { inputTokens: 1 } }))).toEqual([
      'get',
      'compareAndSet',
    ])
    expect(await callsOf(() => orchestration.recordToolUse(id, 's0', { key: 'k' }))).toEqual(['get'])
    expect(await callsOf(() => orchestration.getState(id))).toEqual(['get'])
    expect(await callsOf(() => orchestration.allowedTools(id, ['s0', 's1']))).toEqual(['get'])
    expect(await callsOf(() => orchestration.touch(id))).toEqual(['get', 'touch'])
  })

  it('O39: is one update for use, advance and selection', async () => {
    const steps = [...config.steps, { name: 'next', conditions: [{ type: 'tool_used', value: 's1' } as const] }]
    const { orchestration, store } = bench({ config: { steps } })
    await orchestration.getOrCreateState(id)
    expect(await orchestration.recordToolUse(id, 's0')).toMatchObject({
      version: 2,
      activeStep: 'plan',
      sequenceIndex: 1,
      recentlyUsedTools: ['s0'],
    })
    expect(await orchestration.recordToolUse(id, 's0')).toMatchObject({ version: 3, activeStep: 'plan', sequenceIndex: 1 })
    expect(await orchestration.recordToolUse(id, 's1')).toMatchObject({ version: 4, activeStep: 'next', sequenceIndex: 0 })
    const { orchestration: broken } = bench({
      config: { steps },
      store: watchedStore(store, (call, when) => {
        if (call === 'compareAndSet' && when === 'before') throw away()
      }),
    })
    await expect(broken.recordToolUse(id, 's2')).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(await orchestration.getState(id)).toMatchObject({ version: 4 })
  })
})
