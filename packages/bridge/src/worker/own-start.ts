import type { Writable } from 'node:stream'
import { reserveStdout } from '../bin/reserve-stdout.ts'
import { takeToken } from './take-token.ts'

/** What this process was started with: its secret, and the only way to its stdout. */
export interface OwnStart {
  readonly token: string | undefined
  readonly protocol: Writable
}

// The copy of this package that starts the module may differ from the copy that the module imports.
const slot = Symbol.for('bowline.worker.start')

type Slot = { [slot]?: OwnStart | undefined }

/** Takes the token from stdin, and stdout from everything but the protocol. */
export async function prepareStart(): Promise<void> {
  const prepared = start()
  ;(globalThis as Slot)[slot] = await prepared
}

/** Returns what was prepared, or prepares it now. A second call gets no token. */
export async function takeStart(): Promise<OwnStart> {
  const prepared = (globalThis as Slot)[slot]
  ;(globalThis as Slot)[slot] = undefined
  return prepared ?? start()
}

async function start(): Promise<OwnStart> {
  const protocol = reserveStdout()
  return { token: await takeToken(process.stdin), protocol }
}
