import { readFile, stat } from 'node:fs/promises'

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
