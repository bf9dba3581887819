import { AsyncLocalStorage, createHook } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { defineAgent } from '../../src/index.ts'
import type { ModelFunction } from '../../src/index.ts'
import { echo } from '../support/tools.ts'

/** So many steps with one call each, and a last word. */
function caller(steps: number): ModelFunction {
  return ({ step }) => {
    const call = { type: 'tool-call', toolCallId: `c${step}`, toolName: 'a', input: { step } } as const
    return Promise.resolve([{ role: 'assistant', content: step > steps ? 'done' : [call] }])
  }
}

/** How many promises come to life in a turn: work that can be counted. */
async function promisesOf(steps: number): Promise<number> {
  const agent = defineAgent({ model: caller(steps), tools: [echo('a').tool], limits: { maxSteps: steps + 1 } })
  await agent.run('warm').result()
  let count = 0
  // What the test runner does meanwhile is not the turn's.
  const inside = new AsyncLocalStorage<true>()
  const hook = createHook({ init: (_, type) => void (type === 'PROMISE' && inside.getStore() && (count += 1)) }).enable()
  const { status } = await inside.run(true, () => agent.run('go').result())
  hook.disable()
  expect(status).toBe('completed')
  return count
}

describe('a step of an agent that asks nobody', () => {
  it('A170: makes few promises, and no more of them in a long turn than in a short one', async () => {
    const [none, ten, twenty, thirty] = [await promisesOf(0), await promisesOf(10), await promisesOf(20), await promisesOf(30)]
    expect(thirty - twenty).toBe(twenty - ten)
    expect(twenty - ten).toBeGreaterThan(100)
    expect((twenty - ten) / 10).toBeLessThanOrEqual(65)
    expect(none).toBeLessThanOrEqual(60)
  })
})
