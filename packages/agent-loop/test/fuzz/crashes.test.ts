import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { randomRuns, rounds } from '../../../../scripts/test-length.ts'
import { live, shapeOf } from './crash-life.ts'
import type { Life } from './crash-life.ts'
import { crashPlan } from './crash-plan.ts'
import type { CrashPlan } from './crash-plan.ts'
import { warmUp } from './warm-up.ts'

beforeAll(warmUp)

/** A conversation with everything that one can contain. */
const rich: CrashPlan = {
  turns: [
    [
      { text: true, calls: ['once', 'sure', 'delegate_to_helper'], fails: 1, tokens: 1_400, input: 'overlay' },
      { text: false, calls: ['far', 'asked', 'asked'], fails: 2, tokens: 10, input: 'steer' },
      { text: true, calls: [], fails: 0, tokens: 10, input: 'steer' },
    ],
    [
      { text: false, calls: ['kept', 'alone', 'bad'], fails: 1, tokens: 1_400, input: 'overlay' },
      { text: true, calls: [], fails: 0, tokens: 10, input: undefined },
    ],
  ],
  child: [['once', 'far', 'asked']],
  inPlace: false,
  answers: 2,
  followsUp: true,
  guards: true,
  compacts: true,
  maxTotalTokens: 2_000,
  fallback: true,
  onUnknownOutcome: 'tell-model',
  latencyMs: 0,
  hooks: ['onToolResult'],
  asks: ['stopWhen', 'ephemeral'],
}

/** A long run has a death before and after each commit; a short one has a death before one commit and after the next. */
const deathsPerCommit = rounds({ short: 1, long: 2 })

/** Dies around each commit, and compares the final results. */
async function explore(plan: CrashPlan): Promise<number> {
  const calm = await live(plan, [])
  expect(calm.faults).toEqual([])
  for (let commit = 1; commit <= calm.commits; commit++) {
    const moments = commit % 2 === 0 ? (['before', 'after'] as const) : (['after', 'before'] as const)
    for (const when of moments.slice(0, deathsPerCommit)) compare(calm, await live(plan, [{ commit, when }]), `${when} commit ${commit}`)
  }
  return calm.commits
}

function compare(calm: Life, stormy: Life, name: string): void {
  expect(stormy.faults, name).toEqual([])
  expect(shapeOf(stormy.messages), name).toEqual(shapeOf(calm.messages))
  for (const [toolCallId, { toolName, keys, attempts }] of stormy.executions) {
    expect(keys.size, `${name}: the keys of ${toolCallId}`).toBe(1)
    // An attempt never ran if its process died after its commit.
    expect([...new Set(attempts)].sort(), `${name}: the attempts of ${toolCallId}`).toEqual(attempts)
    if (toolName === 'once' || toolName === 'sure') expect(attempts, `${name}: ${toolCallId}`).toHaveLength(1)
  }
}

describe('crashes', () => {
  it('A171–A175: a conversation with every feature ends the same, at whichever commit its process dies', async () => {
    expect(await explore(rich)).toBeGreaterThan(30)
  })

  it('A171–A175: so does any other conversation', async () => {
    await fc.assert(
      fc.asyncProperty(crashPlan, async (plan) => void (await explore(plan))),
      randomRuns(6, 300),
    )
  })

  it('A171–A175: also when several processes die one after the other', async () => {
    const death = fc.record({ commit: fc.integer({ min: 1, max: 8 }), when: fc.constantFrom('before', 'after') })
    await fc.assert(
      fc.asyncProperty(crashPlan, fc.array(death, { minLength: 2, maxLength: 5 }), async (plan, deaths) => {
        compare(await live(plan, []), await live(plan, deaths), JSON.stringify(deaths))
      }),
      randomRuns(60, 3_000),
    )
  })
})
