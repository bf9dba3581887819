import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../base/agent-error.ts'
import type { Diagnostic } from '../base/loaded.ts'

export interface FolderEntry {
  readonly name: string
  /** With the folder. */
  readonly path: string
  /** Also for a link to one. */
  readonly isFolder: boolean
}

export interface FolderListing {
  /** In the order of their names, the same everywhere. Names that begin with `_` or a dot are skipped. */
  readonly entries: readonly FolderEntry[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Never rejects. */
export async function listFolder(folder: string): Promise<FolderListing> {
  try {
    const names = (await readdir(folder)).filter((name) => !/^[_.]/.test(name)).sort()
    return { entries: await Promise.all(names.map((name) => entryOf(folder, name))), diagnostics: [] }
  } catch (error) {
    return { entries: [], diagnostics: [{ kind: 'file', name: folder, message: messageOf(error) }] }
  }
}

async function entryOf(folder: string, name: string): Promise<FolderEntry> {
  const path = join(folder, name)
  // A link to nowhere fails where it is read, and is named there.
  const facts = await stat(path).catch(() => undefined)
  return { name, path, isFolder: facts?.isDirectory() ?? false }
}
