import { BridgeError } from '../errors.ts'
import { causeText } from '../redact-cause.ts'

/** For people. */
export function tell(text: string): void {
  process.stderr.write(`bowline-bridge: ${text}\n`)
}

/** Prints one line for an error that the user can put right, and the stack of any other. */
export function tellError(error: unknown): void {
  if (BridgeError.isInstance(error) || isRefusedBySystem(error)) tell(error.message)
  else tell(causeText(error))
}

/** Such as an address that is taken. */
function isRefusedBySystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
