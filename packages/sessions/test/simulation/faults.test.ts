import { exploreSimulations, simulationFaults } from '@bowline/sessions/testing'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'

/** Each fault is found within so many seeds, from seed 1. */
const withinSeeds: Readonly<Record<string, number>> = {
  'fence off': 20,
  'lease not renewed': 10,
  'wake lost': 10,
  'double claim': 10,
  'stop not stored': 20,
  'hint trusted': 10,
  'clock of the process trusted': 20,
  'delivery doubled': 10,
  'epoch not raised': 10,
  'ticket completed before the commit': 10,
}

describe('what simulations find', () => {
  it('S198: ten faults are planted', () => {
    expect(simulationFaults.map(({ name }) => name)).toEqual(Object.keys(withinSeeds))
  })

  it.each(simulationFaults)('S198: $name', async (fault) => {
    const { failures } = await exploreSimulations({ seed: 1, simulations: withinSeeds[fault.name] ?? 0, fault, maxFailures: 1, shrinkTries: rounds({ short: 20, long: 200 }) })
    const [failure] = failures
    expect(failure?.problems).not.toEqual([])
    expect(failure?.simulation).toContain('await runSimulation({')
    expect(failure?.trace.some((line) => line.includes('starts at place 0'))).toBe(true)
  })
})
