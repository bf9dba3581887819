import type { Writable } from 'node:stream'
import { reserveStdout } from '../bin/reserve-stdout.ts'
import { takeToken } from './take-token.ts'

/** Start conditions of this process: its token, and the only writer to its stdout. */
export interface OwnStart {
  readonly token: string | undefined
  readonly protocol: Writable
}

// The package copy that starts the module may differ from the copy that the module imports, so they share a global symbol.
const slot = Symbol.for('bowline.worker.start')

type Slot = { [slot]?: OwnStart | undefined }

/** Reads the token from stdin and reserves stdout for the protocol. */
export async function prepareStart(): Promise<void> {
  const prepared = start()
  ;(globalThis as Slot)[slot] = await prepared
}

/** Returns the prepared start, or prepares it now. A second call gets no token. */
export async function takeStart(): Promise<OwnStart> {
  const prepared = (globalThis as Slot)[slot]
  ;(globalThis as Slot)[slot] = undefined
  return prepared ?? start()
}

async function start(): Promise<OwnStart> {
  const protocol = reserveStdout()
  return { token: await takeToken(process.stdin), protocol }
}
