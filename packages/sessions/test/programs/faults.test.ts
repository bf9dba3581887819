import { explorePrograms } from '../explorers/programs/explore-programs.ts'
import { programFaults } from '../explorers/programs/faults.ts'
import { describe, expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'

const programs = rounds({ short: 25, long: 2_000 })

/** Seeds for a short search, a little before a program that finds the fault. A long search starts at 1. */
const nearby: Readonly<Record<string, number>> = {
  'a notification that keeps its rows': 50,
  'lost runs claimed in queue order only': 160,
  'a reader that checks the current state': 10,
  'an outcome stored before its call': 60,
  'a lost steer': 40,
  'a fence left out': 40,
  'a TTL extended by reads': 30,
  'an overlay stored after its turn': 20,
}

describe('what programs can detect', () => {
  it.each(programFaults)('S205: $name', async (fault) => {
    const seed = rounds({ short: nearby[fault.name] ?? 1, long: 1 })
    const report = await explorePrograms({ programs, seed, faults: [fault], maxFailures: 1, shrinkTries: 0 })
    expect(report.failures).toHaveLength(1)
  })
})
