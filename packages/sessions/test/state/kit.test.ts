import { manualClock } from '@bowline/llm/testing'
import { memoryStateStore, type StateStore } from '@bowline/sessions'
import { testStateStore } from '@bowline/testing/stores'
import { describe, expect, it } from 'vitest'
import { plantedFaults } from './broken-stores.ts'
import { runKit } from './kit-failures.ts'

describe('the kit for state stores', () => {
  it('O57: passes a correct store', async () => {
    const { ran, failures } = await runKit(async (clock) => memoryStateStore({ clock }))
    expect(ran).toBeGreaterThan(25)
    expect(failures).toEqual([])
  })

  it('O67, O70: has ten broken stores, among them lost update and resurrection', () => {
    const names = plantedFaults.map(({ fault }) => fault)
    expect(names).toHaveLength(10)
    expect(names).toEqual(expect.arrayContaining(['loses updates', 'brings back what was removed']))
  })

  it.each(plantedFaults)('O67: catches a store that $fault', async ({ caughtBy, breaks }) => {
    const { failures } = await runKit(async (clock) => breaks(memoryStateStore({ clock })))
    expect(failures.map((name) => name.split(':')[0])).toContain(caughtBy)
    // The fault is detected, not a store that is useless altogether.
    expect(failures.length).toBeLessThan(15)
  })

  describe('of a store with a clock of its own, where calls take time and waits end late', () => {
    /** Each call takes up to 100 ms, and a wait ends up to 100 ms late. */
    function lateStores(breaks: (store: StateStore) => StateStore) {
      const clock = manualClock(1_750_000_000_000)
      let n = 0
      const take = (): Promise<void> => clock.advance((n++ * 37) % 100)
      const create = async (): Promise<StateStore> => {
        const store = breaks(memoryStateStore({ clock }))
        const { compareAndSet, get, list, touch, sweep } = store
        return {
          ...store,
          compareAndSet: async (...given) => (await take(), compareAndSet(...given)),
          get: async (...given) => (await take(), get(...given)),
          list: async (...given) => (await take(), list(...given)),
          touch: async (...given) => (await take(), touch(...given)),
          sweep: async (...given) => (await take(), sweep(...given)),
        }
      }
      return { create, pass: (ms: number) => clock.advance(ms).then(take) }
    }

    it('O49, O57: passes a correct store, without the exact millisecond', async () => {
      const { create, pass } = lateStores((store) => store)
      expect((await runKit(create, '', pass)).failures).toEqual([])
    })

    it.each(plantedFaults)('O67: catches a store that $fault', async ({ caughtBy, breaks }) => {
      const { create, pass } = lateStores(breaks)
      expect((await runKit(create, caughtBy, pass)).failures.length).toBeGreaterThan(0)
    })
  })

  it('O57: without a runner it needs the globals', () => {
    expect(() => testStateStore({ name: 'x', create: async () => memoryStateStore() })).toThrow(/pass a runner/)
  })
})
