import { testRowStore } from '@bowline/testing/stores'
import { randomRuns } from '../../../../scripts/test-length.ts'
import type { RowStore } from '../../src/rows/contract.ts'
import { fileRows } from '../../src/stores/file/file-rows.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { kitRunner } from './kit-runner.ts'

const newFolder = temporaryFolders()
const folders = new WeakMap<RowStore, string>()
const { numRuns: programs, seed } = randomRuns(40)

async function rowsIn(dir: string): Promise<RowStore> {
  const rows = fileRows({ dir, fsync: false })
  folders.set(rows, dir)
  return rows
}

testRowStore({
  name: 'file',
  create: () => rowsIn(newFolder()),
  reopen: (rows) => rowsIn(folders.get(rows) ?? ''),
  programs,
  seed,
  runner: kitRunner,
})
