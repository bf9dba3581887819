import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../base/agent-error.ts'
import { checkKeys, checkName, checkRequired } from '../base/checks.ts'
import type { Diagnostic } from '../base/loaded.ts'
import type { FileReader } from '../plugins/prompt/read-source.ts'

/** Reads files for the prompt. Relative paths begin at the working folder of the process. */
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

/** Maximum size of a section or a skill. It is text that a model reads: more is a mistake. */
const largestBytes = 1_048_576

/** Reads a whole file as UTF-8. Rejects with the path if the file is missing, too large, not a file or not text. */
export async function readText(path: string): Promise<string> {
  const unreadable = (error: unknown): never => refuse(path, reasonOf(error), error)
  const facts = await stat(path).catch(unreadable)
  if (!facts.isFile()) refuse(path, 'it is not a file')
  if (facts.size > largestBytes) refuse(path, `it is larger than ${largestBytes} bytes`)
  const bytes = await readFile(path).catch(unreadable)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    return refuse(path, 'it is not UTF-8', error)
  }
}

function refuse(path: string, reason: string, cause?: unknown): never {
  throw new Error(`${path} cannot be read: ${reason}`, { cause })
}

/** Returns the reason alone: the system's own message repeats the path. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'it does not exist' : (code ?? message)
}

interface FolderEntry {
  readonly name: string
  /** Path with the folder. */
  readonly path: string
  /** True also for a link to a folder. */
  readonly isFolder: boolean
}

interface FolderListing {
  /** Sorted by name, the same everywhere. Names that begin with `_` or a dot are skipped. */
  readonly entries: readonly FolderEntry[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Lists a folder. Never rejects. */
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
  // A link to nowhere fails when it is read, and is reported there.
  const facts = await stat(path).catch(() => undefined)
  return { name, path, isFolder: facts?.isDirectory() ?? false }
}

/** Throws `invalid-config` if `folders` is not a list of paths. Problems inside of the folders are diagnostics instead. */
export function checkFolders(path: string, options: { readonly folders: readonly string[] }): void {
  checkKeys(`${path}.options`, options, ['folders'])
  checkRequired('folders', options.folders, 'a list of paths', Array.isArray)
  for (const [index, folder] of options.folders.entries()) checkName(`folders[${index}]`, folder)
}
