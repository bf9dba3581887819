import { stat } from 'node:fs/promises'
import type { FileReader } from '../plugins/prompt/file-reader.ts'
import { readText } from './read-text.ts'

/** Relative paths begin at the working folder of the process. */
export const nodeFileReader: FileReader = {
  readText,
  async isFolder(path) {
    const facts = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw error
    })
    return facts?.isDirectory() ?? false
  },
}
