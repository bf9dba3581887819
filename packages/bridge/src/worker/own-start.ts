import type { Writable } from 'node:stream'
import { reserveStdout } from '../bin/reserve-stdout.ts'
import { tokenVariable } from './handshake.ts'

/** What this process was started with: its secret, and the only way to its stdout. */
export interface OwnStart {
  readonly token: string | undefined
  readonly protocol: Writable
}

// Two installed copies of this package may meet in one process: what starts the module, and what the module imports.
const slot = Symbol.for('bowline.worker.start')

type Slot = { [slot]?: OwnStart | undefined }

/** Takes the token out of the environment, and stdout from everything but the protocol. */
export function prepareStart(): void {
  const token = process.env[tokenVariable]
  delete process.env[tokenVariable]
  ;(globalThis as Slot)[slot] = { token, protocol: reserveStdout() }
}

/** What was prepared, or is now. Nobody gets it a second time. */
export function takeStart(): OwnStart {
  if (!(globalThis as Slot)[slot]) prepareStart()
  const start = (globalThis as Slot)[slot] as OwnStart
  ;(globalThis as Slot)[slot] = undefined
  return start
}
