import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../base/agent-error.ts'
import { checkKeys, checkName, checkRequired } from '../base/checks.ts'
import type { Diagnostic } from '../base/loaded.ts'
import type { FileReader } from '../plugins/prompt/read-source.ts'

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

/** A section or a skill is text that a model reads: more than this is a mistake. */
const largestBytes = 1_048_576

/** A whole file as UTF-8. Rejects with the path for what is missing, no file, too large or no text. */
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

/** The system's own message has the path a second time. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ENOENT' ? 'it is not there' : (code ?? message)
}

interface FolderEntry {
  readonly name: string
  /** With the folder. */
  readonly path: string
  /** Also for a link to one. */
  readonly isFolder: boolean
}

interface FolderListing {
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

/** Throws `invalid-config`. What is wrong in the folders is no misuse and is told otherwise. */
export function checkFolders(path: string, options: { readonly folders: readonly string[] }): void {
  checkKeys(`${path}.options`, options, ['folders'])
  checkRequired('folders', options.folders, 'a list of paths', Array.isArray)
  for (const [index, folder] of options.folders.entries()) checkName(`folders[${index}]`, folder)
}
