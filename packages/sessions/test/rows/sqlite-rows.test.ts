import { join } from 'node:path'
import { describe } from 'vitest'
import type { RowStore } from '../../src/rows/contract.ts'
import { sqliteRows } from '../../src/rows/sqlite-rows.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { comparedRows, rowsKit } from './rows-kit.ts'

const newFolder = temporaryFolders()

describe('rows in SQLite', () => {
  const newRows = (): RowStore => sqliteRows({ file: join(newFolder(), 'rows.db') })
  rowsKit(newRows)
  comparedRows(newRows)
})
