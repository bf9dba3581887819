import { manualClock } from '@bowline/llm/testing'
import type { ManualClock } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { describe, it } from 'vitest'
import { benchOf, startMs } from './bench.ts'
import type { Bench } from './bench.ts'

/** Stores on which rules are tested. */
export interface StorePlace {
  /** Returns an empty store that is not open. */
  readonly create: () => Promise<SessionStore>
  /** Returns a store with the data of this one, which is closed. It is not open yet. */
  readonly reopen: (store: SessionStore) => Promise<SessionStore>
  /** Returns another store on the same data, at the same time. Absent: the store locks its data. */
  readonly second?: (store: SessionStore) => Promise<SessionStore>
  /** Returns the number of bytes that the store writes for this work. Absent: it writes none. */
  readonly bytesWritten?: (store: SessionStore, work: () => Promise<void>) => Promise<number>
  /** Detection of a lost run: by its lease or, in a store for one process, by its owner. */
  readonly loss: 'lease' | 'owner'
}

/** Input of a topic: functions to register tests and to open stores. */
export interface Kit {
  readonly place: StorePlace
  readonly it: (name: string, test: StoreTest) => void
}

type StoreTest = (bench: Bench, stores: OpenStores) => Promise<void>

interface OpenStores {
  open(store: SessionStore, as?: { namespace?: string; owner?: string; clock?: ManualClock }): Promise<Bench>
  /** Opens a store on the same data again. */
  reopen(bench: Bench, as?: { namespace?: string; owner?: string }): Promise<Bench>
}

export type Topic = (kit: Kit) => void

/** Registers the tests of these topics. */
export function testTopics(place: StorePlace, topics: Readonly<Record<string, Topic>>): void {
  const kit: Kit = { place, it: (name, test) => it(name, () => runTest(place, test)) }
  for (const [title, topic] of Object.entries(topics)) describe(title, () => topic(kit))
}

/** Runs a test with its store, and closes every store that it opened. */
async function runTest(place: StorePlace, test: StoreTest): Promise<void> {
  const opened: SessionStore[] = []
  const stores: OpenStores = {
    async open(store, { namespace = 'default', owner = 'owner-a', clock = manualClock(startMs) } = {}) {
      await store.open({ namespace, owner, clock })
      opened.push(store)
      return benchOf(store, clock)
    },
    async reopen(bench, as) {
      await bench.store.close()
      return stores.open(await place.reopen(bench.store), { ...as, clock: bench.clock })
    },
  }
  try {
    await test(await stores.open(await place.create()), stores)
  } finally {
    for (const store of opened) await store.close()
  }
}
