import { describe, expect, it } from 'vitest'
import { inProcessExecutor } from '@bowline/bridge'
import type { BridgeAgent, BridgeExecutor, ExecutorLimits } from '@bowline/bridge'
import { kitAgent, testBridgeExecutor } from '@bowline/testing/executors'
import type { ExecutorKitOptions, KitRunner } from '@bowline/testing/executors'
import { brokenExecutors } from './broken-executors.ts'

type MakeExecutor = (agent: BridgeAgent, limits: ExecutorLimits) => BridgeExecutor

interface KitTest {
  readonly name: string
  readonly body: () => Promise<void>
}

function testsOf(
  make: MakeExecutor,
  cannot: ExecutorKitOptions['cannot'] = {},
): { readonly tests: readonly KitTest[]; readonly skipped: readonly string[] } {
  const tests: KitTest[] = []
  const skipped: string[] = []
  const it = Object.assign((name: string, body: () => Promise<void>) => void tests.push({ name, body }), {
    skip: (name: string) => void skipped.push(name),
  })
  const runner: KitRunner = { describe: (_name, body) => body(), it }
  const executor = (limits: ExecutorLimits) => {
    const notes: string[] = []
    return { executor: make(kitAgent({ note: (line) => notes.push(line) }), limits), notes: () => notes }
  }
  testBridgeExecutor({ name: 'under test', executor, cannot, runner })
  return { tests, skipped }
}

/** Returns the names of the rule's tests that this executor fails. A broken executor can make tests hang; those count as failed too. */
async function failuresOf(make: MakeExecutor, rule = '', hangsAfterMs?: number): Promise<readonly string[]> {
  const tests = testsOf(make).tests.filter(({ name }) => name.includes(rule))
  const failed = new Set(tests.map(({ name }) => name))
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = hangsAfterMs === undefined ? undefined : setTimeout(resolve, hangsAfterMs)
  const ends = tests.map(({ name, body }) =>
    body().then(
      () => failed.delete(name),
      () => {},
    ),
  )
  await Promise.race([Promise.all(ends), late])
  clearTimeout(timer)
  return [...failed]
}

describe('the kit for executors', () => {
  it('B10: a good executor passes', async () => {
    expect(await failuresOf((agent, limits) => inProcessExecutor({ agents: [agent], ...limits }))).toEqual([])
  })

  it.each(brokenExecutors)('$rule: catches an executor that $fault', async ({ rule, over }) => {
    expect(await failuresOf(over, rule, 2000)).not.toEqual([])
  })

  it('B10: abilities that an agent lacks are skipped, with the reason', () => {
    const make: MakeExecutor = (agent) => inProcessExecutor({ agents: [agent] })
    const all = testsOf(make)
    const some = testsOf(make, { stubbornness: 'it is always stopped' })
    expect(all.skipped).toEqual([])
    expect(some.skipped.length).toBe(2)
    expect(some.skipped.every((name) => name.endsWith('(stubbornness: it is always stopped)'))).toBe(true)
    expect(some.tests.length).toBe(all.tests.length - 2)
  })

  it('B10: without a runner it needs the globals', () => {
    expect(() => testBridgeExecutor({ name: 'x', executor: () => Promise.reject(new Error('not asked')) })).toThrow(/pass a runner/)
  })
})
