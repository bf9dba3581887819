import { BridgeError } from '../errors.ts'
import { causeText } from '../redact-cause.ts'

/** Prints a message to stderr. */
export function tell(text: string): void {
  process.stderr.write(`bowline-bridge: ${text}\n`)
}

/** Prints one line for an error that the user can fix, and the stack for any other. */
export function tellError(error: unknown): void {
  if (BridgeError.isInstance(error) || isRefusedBySystem(error)) tell(error.message)
  else tell(causeText(error))
}

/** Recognises errors of system calls, such as an address in use. */
function isRefusedBySystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
