import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import type { TestRunner } from '../runner.ts'
import { benchOf, startMs } from './bench.ts'
import type { Bench } from './bench.ts'

/** Factories and abilities of the session store under test. */
export interface StoreKitOptions {
  /** Name of the store in the titles of the tests. */
  readonly name: string
  /** Returns an empty store that is not open. */
  readonly create: () => Promise<SessionStore>
  /** Returns a store with the data of this one, which is closed. It is not open yet. */
  readonly reopen: (store: SessionStore) => Promise<SessionStore>
  /** Called after each test, when its stores are closed. */
  readonly destroy?: () => Promise<void>
  /** Returns another store on the same data, at the same time. Omit it for a store that locks its data. */
  readonly second?: (store: SessionStore) => Promise<SessionStore>
  /** Returns the number of bytes that the store writes for this work. Omit it for a store that writes none. */
  readonly bytesWritten?: (store: SessionStore, work: () => Promise<void>) => Promise<number>
  /** True if the store refuses records above its `maxRecordBytes`. */
  readonly limitsRecords: boolean
  /** True if the store carries live deltas between processes. Default false. */
  readonly sharesDeltas?: boolean
  /** Detection of a lost run: by its lease or, in a store for one process, by its owner. */
  readonly loss: 'lease' | 'owner'
  /** Default: the globals `describe` and `it`. */
  readonly runner?: TestRunner
}

/** Input of a topic of the kit: functions to register tests and to open stores. */
export interface Kit {
  readonly options: StoreKitOptions
  readonly it: (name: string, test: StoreTest, timeoutMs?: number) => void
}

type StoreTest = (bench: Bench, stores: OpenStores) => Promise<void>

interface OpenStores {
  open(store: SessionStore, as?: { namespace?: string; owner?: string; clock?: ManualClock }): Promise<Bench>
  /** Opens a store on the same data again. */
  reopen(bench: Bench, as?: { namespace?: string; owner?: string }): Promise<Bench>
}

export type Topic = (kit: Kit) => void

export function kitOf(options: StoreKitOptions, runner: TestRunner): Kit {
  return { options, it: (name, test, timeoutMs = 30_000) => runner.it(name, () => runTest(options, test), timeoutMs) }
}

/** Runs a test with its store, and closes every store that it opened. */
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
