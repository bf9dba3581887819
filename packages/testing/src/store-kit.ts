import { checkStoreKit } from './check-options.ts'
import { globalRunner } from './runner.ts'
import { branches } from './store-kit/branches.ts'
import { children } from './store-kit/children.ts'
import { claims } from './store-kit/claims.ts'
import { commits } from './store-kit/commits.ts'
import { deltas } from './store-kit/deltas.ts'
import { deaths } from './store-kit/deaths.ts'
import { definitions } from './store-kit/definitions.ts'
import { deliveries } from './store-kit/deliveries.ts'
import { expectations } from './store-kit/expectations.ts'
import { growth } from './store-kit/growth.ts'
import { hints } from './store-kit/hints.ts'
import { inbox } from './store-kit/inbox.ts'
import { inputs } from './store-kit/inputs.ts'
import { keys } from './store-kit/keys.ts'
import { kitOf } from './store-kit/kit.ts'
import type { StoreKitOptions, Topic } from './store-kit/kit.ts'
import { lanes } from './store-kit/lanes.ts'
import { ledger } from './store-kit/ledger.ts'
import { listing } from './store-kit/listing.ts'
import { lives } from './store-kit/lives.ts'
import { log } from './store-kit/log.ts'
import { notices } from './store-kit/notices.ts'
import { pruning } from './store-kit/pruning.ts'
import { reading } from './store-kit/reading.ts'
import { reopening } from './store-kit/reopening.ts'
import { runs } from './store-kit/runs.ts'
import { several } from './store-kit/several.ts'
import { sums } from './store-kit/sums.ts'
import { time } from './store-kit/time.ts'
import { transcript } from './store-kit/transcript.ts'

const topics: Readonly<Record<string, Topic>> = {
  commits,
  expectations,
  keys,
  transcript,
  log,
  runs,
  ledger,
  inputs,
  claims,
  reading,
  deliveries,
  lanes,
  lives,
  deaths,
  time,
  pruning,
  notices,
  inbox,
  branches,
  children,
  definitions,
  listing,
  sums,
  hints,
  reopening,
}

/** Registers the tests that every session store must pass. */
export function testSessionStore(options: StoreKitOptions): void {
  checkStoreKit('testSessionStore.options', options)
  const runner = options.runner ?? globalRunner()
  const kit = kitOf(options, runner)
  runner.describe(`session store: ${options.name}`, () => {
    const wanted = {
      ...topics,
      ...(options.second && { several }),
      ...(options.bytesWritten && { growth }),
      ...(options.sharesDeltas && { deltas }),
    }
    for (const [title, topic] of Object.entries(wanted)) runner.describe(title, () => topic(kit))
  })
}
