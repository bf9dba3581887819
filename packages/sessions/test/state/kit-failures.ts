import { testStateStore, type StateKitOptions, type TestRunner } from '@bowline/testing/stores'

export interface KitRun {
  readonly ran: number
  /** Names of the tests of the kit that the store fails. */
  readonly failures: readonly string[]
}

/** Runs the kit, or only its tests of one rule. `pass`: the store has a clock of its own. */
export async function runKit(create: StateKitOptions['create'], rule = '', pass?: StateKitOptions['pass']): Promise<KitRun> {
  const tests: { readonly name: string; readonly body: () => Promise<void> }[] = []
  const runner: TestRunner = { describe: (_name, body) => body(), it: (name, body) => void tests.push({ name, body }) }
  testStateStore({ name: 'under test', create, runner, ...(pass && { pass }) })
  const wanted = tests.filter(({ name }) => rule === '' || name.startsWith(`${rule}:`))
  const failures: string[] = []
  for (const { name, body } of wanted) await body().catch(() => failures.push(name))
  return { ran: wanted.length, failures }
}
