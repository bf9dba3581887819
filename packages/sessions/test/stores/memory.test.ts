import { describe, it } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import type { MemoryStore } from '../../src/memory.ts'
import { testSessionStore } from '../../src/testing/store-kit.ts'

testSessionStore({
  name: 'memory',
  create: async () => memoryStore(),
  reopen: async (store) => store,
  second: async (store) => (store as MemoryStore).second(),
  limitsRecords: false,
  loss: 'lease',
  runner: { describe, it },
})
