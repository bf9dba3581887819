import { memoryStore, type MemoryStore } from '@bowline/sessions/memory'
import type { SessionStore } from '@bowline/sessions'
import { describe } from 'vitest'
import { testTopics } from '../core/rules/kit.ts'
import { sharedDeltas, type SharedDeltas } from '../log/shared-deltas.ts'
import { deltas } from './whole-deltas.ts'

describe('S188: a memory store that carries deltas', () => {
  const places = new WeakMap<SessionStore, { readonly memory: MemoryStore; readonly shared: SharedDeltas }>()
  const over = (memory: MemoryStore, shared: SharedDeltas): SessionStore => {
    const store = shared.over(memory)
    places.set(store, { memory, shared })
    return store
  }
  const place = {
    create: async () => over(memoryStore(), sharedDeltas()),
    reopen: async (store: SessionStore) => store,
    second: async (store: SessionStore) => {
      const place = places.get(store)
      if (!place) throw new Error('No store of this test.')
      return over(place.memory.second(), place.shared)
    },
    loss: 'lease',
  } as const
  testTopics(place, { deltas })
})
