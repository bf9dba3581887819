import { describe } from 'vitest'
import { memoryStore } from '../../src/memory.ts'
import type { MemoryStore } from '../../src/memory.ts'
import { testWholeKit } from './whole-kit.ts'

describe('S177: the kit over the memory store', () => {
  testWholeKit({
    name: 'memory',
    create: async () => memoryStore(),
    reopen: async (store) => store,
    second: async (store) => (store as MemoryStore).second(),
    limitsRecords: false,
    loss: 'lease',
    exceptions: [
      'S49: a record beyond the limit is refused before anything is written',
      'S54: the bytes of a commit after 1,000 others are those after 20',
    ],
  })
})
