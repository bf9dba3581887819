import fc from 'fast-check'
import { describe, it } from 'vitest'
import { rounds, testSeed } from '../../../scripts/test-length.ts'
import { commands } from './model/puppet.ts'
import { World } from './model/world.ts'
import type { Step } from './model/world.ts'

const stepsPerRun = 250

const slot = fc.nat(7)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('create' as const), slot, refused: fc.boolean() }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('prompt' as const), slot, stubborn: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('command' as const), slot, command: fc.constantFrom(...commands) }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('answer' as const), slot, known: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('cancel' as const), slot }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('close' as const), slot }) },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('jump' as const), ms: fc.constantFrom(1, 1000, 4999, 5000, 29_999, 30_000, 50_001, 61_000) }),
  },
)

describe('sessions, step by step', () => {
  it('B12, B18, B67: behave like a small model, over thousands of random steps', async () => {
    const steps = fc.array(step, { minLength: stepsPerRun, maxLength: stepsPerRun })
    await fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const world = await World.start()
        for (const each of taken) await world.take(each)
        await world.end()
      }),
      // Shrinking so many steps would exceed the time limit of the test.
      { numRuns: rounds({ short: 20, long: 1000 }), seed: testSeed, endOnFailure: true },
    )
  })
})
