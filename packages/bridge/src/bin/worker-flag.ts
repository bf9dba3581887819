import { parseArgsStringToArgv } from 'string-argv'
import { checkId } from '../arguments.ts'
import { BridgeError } from '../errors.ts'

/** A `--worker ID=COMMAND` flag. */
export interface WorkerFlag {
  readonly id: string
  readonly command: string
  readonly args: readonly string[]
}

/** Parses the flag without a shell: only words and quotes are understood. Throws `CONFIG`. */
export function readWorker(text: string): WorkerFlag {
  const at = text.indexOf('=')
  const id = text.slice(0, Math.max(0, at)).trim()
  const [command, ...args] = parseArgsStringToArgv(text.slice(at + 1))
  if (at === -1 || id === '' || command === undefined) {
    throw new BridgeError('CONFIG', `--worker ${text} must be ID=COMMAND, such as reviewer="node reviewer.js"`)
  }
  checkId(`the ID of --worker ${text}`, id)
  return { id, command, args }
}
