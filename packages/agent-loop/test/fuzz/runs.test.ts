import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { converse } from './conversation.ts'
import { scenario } from './scenarios.ts'

/** More runs than a test run has time for: `FUZZ_FACTOR=50`. */
const factor = Number(process.env['FUZZ_FACTOR'] ?? 1)
const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

describe('random conversations', () => {
  it('A113: whatever models, tools, hooks, journals and people do, each run ends in time and leaves a right log and transcript', { timeout: 120_000 * factor }, async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (planned) => {
        unhandled.length = 0
        expect(await converse(planned)).toEqual([])
        expect(unhandled).toEqual([])
      }),
      { numRuns: 250 * factor },
    )
  })
})
