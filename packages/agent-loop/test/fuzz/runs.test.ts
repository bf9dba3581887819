import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { converse } from './conversation.ts'
import { scenarios } from './scenarios.ts'
import type { Emphasis } from './scenarios.ts'
import { warmUp } from './warm-up.ts'

const unhandled: unknown[] = []
const note = (error: unknown): void => void unhandled.push(error)
beforeAll(warmUp)
beforeAll(() => void process.on('unhandledRejection', note))
afterAll(() => void process.off('unhandledRejection', note))

async function explore(emphasis: Emphasis, numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(scenarios(emphasis), async (planned) => {
      unhandled.length = 0
      expect(await converse(planned)).toEqual([])
      expect(unhandled).toEqual([])
    }),
    randomRuns(numRuns, 10_000),
  )
}

describe('random conversations', () => {
  it('A113: whatever models, tools, hooks, journals and people do, each run ends in time and leaves a valid log and transcript', async () => {
    await explore({}, 60)
  })

  it('A7, A8, A107: whatever a model function does, even if it breaks every promise', async () => {
    await explore({ functions: true }, 60)
  })

  it('A87, A162: a budget shared by a tree of runs is used only by calls that reserved from it', async () => {
    await explore({ budget: true }, 60)
  })

  it('A166, A167: children that tools spawn use only what they may, and leave nothing in the journal of the run', async () => {
    await explore({ sideWork: true, budget: true }, 60)
  })

  it('A163, A164: a journal runs subagents to every possible outcome', async () => {
    await explore({ host: true, budget: true }, 60)
  })
})
