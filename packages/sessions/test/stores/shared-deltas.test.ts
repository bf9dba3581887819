import { memoryStore, type MemoryStore } from '@bowline/sessions/memory'
import type { SessionStore } from '@bowline/sessions'
import { testSessionStore } from '@bowline/testing/stores'
import { describe, it } from 'vitest'
import { sharedDeltas, type SharedDeltas } from '../log/shared-deltas.ts'

describe('S177: the kit over a memory store that carries deltas', () => {
  const places = new WeakMap<SessionStore, { readonly memory: MemoryStore; readonly shared: SharedDeltas }>()
  const over = (memory: MemoryStore, shared: SharedDeltas): SessionStore => {
    const store = shared.over(memory)
    places.set(store, { memory, shared })
    return store
  }
  testSessionStore({
    name: 'memory with deltas',
    create: async () => over(memoryStore(), sharedDeltas()),
    reopen: async (store) => store,
    second: async (store) => {
      const place = places.get(store)
      if (!place) throw new Error('No store of this test.')
      return over(place.memory.second(), place.shared)
    },
    limitsRecords: false,
    sharesDeltas: true,
    runner: { describe, it },
    loss: 'lease',
  })
})
