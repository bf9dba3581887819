import { BridgeError } from '../errors.ts'

/** For people. */
export function tell(text: string): void {
  process.stderr.write(`bowline-bridge: ${text}\n`)
}

/** What somebody can put right is told in a line; of anything else the place is told too. */
export function tellError(error: unknown): void {
  if (BridgeError.isInstance(error) || isRefusedBySystem(error)) tell(error.message)
  else tell(error instanceof Error ? (error.stack ?? error.message) : String(error))
}

/** Such as an address that is taken. */
function isRefusedBySystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
