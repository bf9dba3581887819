import type { SessionStore } from '@bowline/sessions'
import { testSessionStore, type StoreKitOptions, type TestRunner } from '@bowline/testing/stores'
import { describe, expect, it } from 'vitest'

export interface WholeKitOptions extends Omit<StoreKitOptions, 'runner'> {
  /** Tests of the kit that do not apply to this store because of its capabilities. */
  readonly exceptions: readonly string[]
}

/** Tests that do not apply to a store with exclusive access to its data. */
export const aloneWithItsData: readonly string[] = [
  'S6: two namespaces on one store at a time never see, claim or renew each other’s runs',
  'S56: a run whose lease lives is not taken over, to the millisecond',
  'S60: a lease from before the clock was set back ends its own length after that was seen, unless it is renewed',
  'S57: a claimer’s wrong clock changes nothing',
  'S212: of two processes that claim at once each gets others, and none is left',
  'S48: commits of another owner are told, those of another namespace are not',
  'S196: what one store has acknowledged another one reads',
  'S3: two stores that create one session at once create one',
  'S38: commits of two stores at once get numbers without gaps, and each its own version',
  'S15: one input that is sent by two stores at once becomes one run',
  'S55: of two stores that claim at once one gets each run',
  'S36, S56: the lease of another store is respected until it ends; then its owner is fenced',
  'S58: a lease that is renewed while its run commits is renewed',
  'S45: deliveries that cross each other all arrive once',
  'S105: commits that meet a deletion bring nothing back',
  'S164: a definition that a run takes while others are pruned stays',
]

/** Runs the kit on a store, and checks that it left out exactly the exceptions. */
export function testWholeKit({ exceptions, ...options }: WholeKitOptions): void {
  const asked: string[] = []
  const runner: TestRunner = {
    describe,
    it(name, body) {
      asked.push(name)
      // With the time limit of the project: that of the kit is short for a busy machine.
      it(name, body)
    },
  }
  testSessionStore({ ...options, runner })

  it('the whole kit was requested, except for what the store declares unsupported', () => {
    expect(asked.length).toBeGreaterThan(150)
    expect(wholeKit().filter((name) => !asked.includes(name))).toEqual(exceptions)
  })
}

/** Returns the names of the tests for a store with all capabilities. */
function wholeKit(): readonly string[] {
  const names: string[] = []
  const notMade = (): Promise<SessionStore> => Promise.reject(new Error('These tests are not run.'))
  testSessionStore({
    name: 'any',
    create: notMade,
    reopen: notMade,
    second: notMade,
    bytesWritten: () => Promise.resolve(0),
    limitsRecords: true,
    loss: 'lease',
    runner: { describe: (_name, body) => body(), it: (name) => void names.push(name) },
  })
  return names
}
