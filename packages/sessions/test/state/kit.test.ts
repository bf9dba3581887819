import { memoryStateStore } from '@bowline/sessions'
import { testStateStore, type StateKitOptions, type TestRunner } from '@bowline/sessions/testing'
import { describe, expect, it } from 'vitest'
import { brokenStores } from './broken-stores.ts'

/** The names of the tests of the kit that this store does not pass. */
async function failuresOf(create: StateKitOptions['create']): Promise<readonly string[]> {
  const tests: { readonly name: string; readonly body: () => Promise<void> }[] = []
  const runner: TestRunner = { describe: (_name, body) => body(), it: (name, body) => void tests.push({ name, body }) }
  testStateStore({ name: 'under test', create, runner })
  const failures: string[] = []
  for (const { name, body } of tests) await body().catch(() => failures.push(name))
  expect(tests.length).toBeGreaterThan(25)
  return failures
}

describe('the kit for state stores', () => {
  it('O57: lets a good store pass', async () => {
    expect(await failuresOf(async (clock) => memoryStateStore({ clock }))).toEqual([])
  })

  it('O67: plants five faults and more', () => {
    expect(brokenStores.map(({ fault }) => fault).slice(0, 5)).toEqual([
      ...['loses updates', 'brings back what was removed', 'uses versions again', 'lets spaces run into each other', 'shows what has expired as missing'],
    ])
  })

  it.each(brokenStores)('O67: catches a store that $fault', async ({ fault, create }) => {
    const caught: Readonly<Record<string, string>> = {
      'loses updates': 'O13',
      'brings back what was removed': 'O16',
      'uses versions again': 'O61',
      'lets spaces run into each other': 'O60',
      'shows what has expired as missing': 'O58',
      'rounds times up to seconds': 'O49',
      'looks empty when it is away': 'O58',
      'prolongs what is read': 'O3',
    }
    const failures = await failuresOf(create)
    expect(failures.map((name) => name.split(':')[0])).toContain(caught[fault])
    // It is the fault that is caught, not a store that cannot be used at all.
    expect(failures.length).toBeLessThan(15)
  })

  it('O57: without a runner it needs the globals', () => {
    expect(() => testStateStore({ name: 'x', create: async () => memoryStateStore() })).toThrow(/pass a runner/)
  })
})
