import { memoryStateStore } from '@bowline/sessions'
import { testStateStore } from '@bowline/sessions/testing'
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

  it('O57: without a runner it needs the globals', () => {
    expect(() => testStateStore({ name: 'x', create: async () => memoryStateStore() })).toThrow(/pass a runner/)
  })
})
