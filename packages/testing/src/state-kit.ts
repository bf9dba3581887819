import { checkStateKit } from './check-options.ts'
import { expiry } from './state-kit/expiry.ts'
import { stateKitOf } from './state-kit/kit.ts'
import type { StateKitOptions, StateTopic } from './state-kit/kit.ts'
import { listing } from './state-kit/listing.ts'
import { places } from './state-kit/places.ts'
import { searching } from './state-kit/searching.ts'
import { versions } from './state-kit/versions.ts'
import { writes } from './state-kit/writes.ts'
import { globalRunner } from './runner.ts'

const topics: Readonly<Record<string, StateTopic>> = { writes, versions, expiry, places, listing, searching }

/** Registers the tests that every state store must pass. */
export function testStateStore(options: StateKitOptions): void {
  checkStateKit('testStateStore.options', options)
  const runner = options.runner ?? globalRunner()
  const kit = stateKitOf(options, runner)
  runner.describe(`state store: ${options.name}`, () => {
    for (const [title, topic] of Object.entries(topics)) runner.describe(title, () => topic(kit))
  })
}
