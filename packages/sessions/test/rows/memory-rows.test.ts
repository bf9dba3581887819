import { describe } from 'vitest'
import { memoryRows } from '../../src/rows/memory-rows.ts'
import { rowsKit } from './rows-kit.ts'

describe('rows in memory', () => {
  rowsKit(memoryRows)
})
