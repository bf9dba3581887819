import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import type { SessionStore } from '../../contract/session-store.ts'
import { benchOf, startMs } from './bench.ts'
import type { Bench } from './bench.ts'

/** Factories and abilities of the session store under test. */
export interface StoreKitOptions {
  /** Names the store in the titles of the tests. */
  readonly name: string
  /** A store over nothing, not open yet. */
  readonly create: () => Promise<SessionStore>
  /** A store over the data of this one, which is closed; not open yet. */
  readonly reopen: (store: SessionStore) => Promise<SessionStore>
  /** Called after each test, when its stores are closed. */
  readonly destroy?: () => Promise<void>
  /** Another store over the data of this one, at the same time. Leave it out for a store that is alone with its data. */
  readonly second?: (store: SessionStore) => Promise<SessionStore>
  /** How many bytes this work makes the store write. Leave it out where nothing is written. */
  readonly bytesWritten?: (store: SessionStore, work: () => Promise<void>) => Promise<number>
  /** Whether the store refuses records beyond its `maxRecordBytes`. */
  readonly limitsRecords: boolean
  /** Whether the store carries live deltas between processes. Default false. */
  readonly sharesDeltas?: boolean
  /** How a running run is known to be lost: by its lease, or, in a store of one process, by its owner. */
  readonly loss: 'lease' | 'owner'
  /** Default: the globals `describe` and `it`. */
  readonly runner?: TestRunner
}

/** The functions `describe` and `it` of a test runner. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => void
  readonly it: (name: string, body: () => Promise<void>, timeoutMs?: number) => void
}

/** What a topic of the kit gets: where to put its tests, and how to open stores in them. */
export interface Kit {
  readonly options: StoreKitOptions
  readonly it: (name: string, test: StoreTest, timeoutMs?: number) => void
}

type StoreTest = (bench: Bench, stores: OpenStores) => Promise<void>

interface OpenStores {
  open(store: SessionStore, as?: { namespace?: string; owner?: string; clock?: ManualClock }): Promise<Bench>
  /** The same data in a store that was opened anew. */
  reopen(bench: Bench, as?: { namespace?: string; owner?: string }): Promise<Bench>
}

export type Topic = (kit: Kit) => void

export function kitOf(options: StoreKitOptions, runner: TestRunner): Kit {
  return { options, it: (name, test, timeoutMs = 30_000) => runner.it(name, () => runTest(options, test), timeoutMs) }
}

/** Gives a test its store, and closes every store that it opened. */
async function runTest(options: StoreKitOptions, test: StoreTest): Promise<void> {
  const opened: SessionStore[] = []
  const stores: OpenStores = {
    async open(store, { namespace = 'default', owner = 'owner-a', clock = manualClock(startMs) } = {}) {
      await store.open({ namespace, owner, clock })
      opened.push(store)
      return benchOf(store, clock)
    },
    async reopen(bench, as) {
      await bench.store.close()
      return stores.open(await options.reopen(bench.store), { ...as, clock: bench.clock })
    },
  }
  try {
    await test(await stores.open(await options.create()), stores)
  } finally {
    for (const store of opened) await store.close()
    await options.destroy?.()
  }
}
