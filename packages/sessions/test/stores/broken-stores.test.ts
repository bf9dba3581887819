import { memoryStore } from '@bowline/sessions/memory'
import { testSessionStore, type TestRunner } from '@bowline/testing/stores'
import type { SessionStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { brokenStores } from './broken-stores.ts'

interface CollectedTest {
  readonly name: string
  readonly body: () => Promise<void>
}

/** Collects the tests of the kit for a store. They run here instead of in vitest. */
function testsFor(create: () => SessionStore): readonly CollectedTest[] {
  const tests: CollectedTest[] = []
  const runner: TestRunner = {
    describe: (_name, body) => body(),
    it: (name, body) => void tests.push({ name, body }),
  }
  testSessionStore({
    name: 'broken',
    create: async () => create(),
    reopen: async (store) => store,
    limitsRecords: false,
    loss: 'lease',
    runner,
  })
  return tests
}

async function failuresOf(create: () => SessionStore): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { name, body } of testsFor(create)) {
    await body().catch(() => failed.push(name))
  }
  return failed
}

describe('the kit for stores', () => {
  it('S178: passes a correct store', async () => {
    expect(await failuresOf(memoryStore)).toEqual([])
  })

  it.each(brokenStores)('S178: fails for a store that $name', async ({ create, rules }) => {
    const failed = await failuresOf(create)
    for (const rule of rules) expect(failed).toContainEqual(expect.stringMatching(new RegExp(`^${rule}\\b`)))
    // The mistake is detected, not a store that is useless altogether.
    expect(failed.length).toBeLessThan(testsFor(create).length / 2)
  })

  it('S178: has more than ten broken stores to detect', () => {
    expect(new Set(brokenStores.map(({ name }) => name)).size).toBeGreaterThan(10)
  })
})
