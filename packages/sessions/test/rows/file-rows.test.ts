import { describe } from 'vitest'
import { fileRows } from '../../src/stores/file/file-rows.ts'
import { temporaryFolders } from '../stores/temporary-folder.ts'
import { comparedRows, rowsKit } from './rows-kit.ts'

const newFolder = temporaryFolders()

describe('rows in files', () => {
  const newRows = () => fileRows({ dir: newFolder(), fsync: false })
  rowsKit(newRows)
  comparedRows(newRows)
})
