import { explorePrograms, programFaults } from '@bowline/sessions/testing'
import { describe, expect, it } from 'vitest'

const programs = 2_000

describe('what programs find', () => {
  it.each(programFaults)('S205: $name', async (fault) => {
    const report = await explorePrograms({ programs, seed: 1, faults: [fault], maxFailures: 1, shrinkTries: 0 })
    expect(report.failures).toHaveLength(1)
  })
})
