import { globalRunner } from './runner.ts'
import { claims } from './store-kit/claims.ts'
import { commits } from './store-kit/commits.ts'
import { expectations } from './store-kit/expectations.ts'
import { growth } from './store-kit/growth.ts'
import { keys } from './store-kit/keys.ts'
import { kitOf } from './store-kit/kit.ts'
import type { StoreKitOptions, Topic } from './store-kit/kit.ts'
import { ledger } from './store-kit/ledger.ts'
import { log } from './store-kit/log.ts'
import { reading } from './store-kit/reading.ts'
import { reopening } from './store-kit/reopening.ts'
import { runs } from './store-kit/runs.ts'
import { transcript } from './store-kit/transcript.ts'

const topics: Readonly<Record<string, Topic>> = {
  commits,
  expectations,
  keys,
  transcript,
  log,
  runs,
  ledger,
  claims,
  reading,
  reopening,
}

/** Defines the tests that every session store must pass. */
export function testSessionStore(options: StoreKitOptions): void {
  const runner = options.runner ?? globalRunner()
  const kit = kitOf(options, runner)
  runner.describe(`session store: ${options.name}`, () => {
    const wanted = options.bytesWritten ? { ...topics, growth } : topics
    for (const [title, topic] of Object.entries(wanted)) runner.describe(title, () => topic(kit))
  })
}
