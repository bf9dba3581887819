import { exploreSimulations } from '../explorers/simulation/explore-simulations.ts'
import { simulationFaults } from '../explorers/simulation/faults.ts'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'

/** First seeds for faults that are found seldom. Default: 1. */
const nearby: Readonly<Record<string, number>> = {
  'stop not stored': 20,
  'clock of the process trusted': 35,
  'full tenant blocks other tenants': 321,
  'gap in live deltas hidden': 15,
}

/** Number of seeds within which each fault must be found. */
const withinSeeds: Readonly<Record<string, number>> = {
  'fence off': 20,
  'lease not renewed': 10,
  'wake lost': 10,
  'double claim': 10,
  'stop not stored': 10,
  'hint trusted': 10,
  'clock of the process trusted': 10,
  'delivery doubled': 10,
  'epoch not raised': 10,
  'ticket completed before the commit': 10,
  'tenant counted per process': 10,
  'full tenant blocks other tenants': 10,
  'failed renewal counted as renewed': 10,
  'batch repeated under another id': 10,
  'gap in live deltas hidden': 10,
}

describe('what simulations can detect', () => {
  it('S198: fifteen known faults are planted', () => {
    expect(simulationFaults.map(({ name }) => name)).toEqual(Object.keys(withinSeeds))
  })

  it.each(simulationFaults)('S198: $name', async (fault) => {
    const { failures } = await exploreSimulations({
      seed: nearby[fault.name] ?? 1,
      simulations: withinSeeds[fault.name] ?? 0,
      fault,
      maxFailures: 1,
      shrinkTries: rounds({ short: 20, long: 200 }),
    })
    const [failure] = failures
    expect(failure?.problems).not.toEqual([])
    expect(failure?.simulation).toContain('await runSimulation({')
    expect(failure?.trace.some((line) => line.includes('starts at place 0'))).toBe(true)
  })
})
