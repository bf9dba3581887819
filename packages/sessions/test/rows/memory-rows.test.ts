import { testRowStore } from '@bowline/testing/stores'
import { memoryRows, type MemoryRows } from '../../src/rows/memory-rows.ts'
import { kitRunner } from './kit-runner.ts'

testRowStore({
  name: 'memory',
  create: async () => memoryRows(),
  second: async (rows) => (rows as MemoryRows).second(),
  programs: 1, // The rows in memory are what others are compared with.
  runner: kitRunner,
})
