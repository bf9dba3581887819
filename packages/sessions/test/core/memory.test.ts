import { systemClock } from '@bowline/llm'
import { describe } from 'vitest'
import { coreStore } from '../../src/core/core-store.ts'
import { memoryRows, type MemoryRows } from '../../src/rows/memory-rows.ts'
import { memoryStateStore } from '../../src/state/memory-state-store.ts'
import type { SessionStore } from '../../src/index.ts'
import { testWholeKit } from '../stores/whole-kit.ts'

describe('S177: the kit over rows in memory', () => {
  const rowsOf = new WeakMap<SessionStore, MemoryRows>()
  const over = (rows: MemoryRows): SessionStore => {
    const store = coreStore(rows, { loss: 'lease', state: memoryStateStore({ clock: systemClock }) })
    rowsOf.set(store, rows)
    return store
  }
  const second = (store: SessionStore): SessionStore => over((rowsOf.get(store) as MemoryRows).second())
  testWholeKit({
    name: 'memory',
    create: async () => over(memoryRows()),
    reopen: async (store) => second(store),
    second: async (store) => second(store),
    limitsRecords: false,
    loss: 'lease',
    exceptions: [
      'S49: a record beyond the limit is refused before anything is written',
      'S54: the bytes of a commit after 1,000 others are those after 20',
    ],
  })
})
