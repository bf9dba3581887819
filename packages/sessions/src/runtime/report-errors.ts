import { SessionError } from '../errors.ts'
import type { ErrorContext, RuntimeOptions } from './types.ts'

type ErrorHandler = NonNullable<RuntimeOptions['onError']>

/** Returns a handler that never throws. If the handler of the host throws, both errors are reported. */
export function errorHandler(onError: ErrorHandler = reportError): ErrorHandler {
  return (error, where) => {
    try {
      onError(error, where)
    } catch (failure) {
      reportError(error, where)
      reportError(failure, where)
    }
  }
}

/** Reports the name and the code of an error, and where it was thrown. Leaves out its message. */
function reportError(error: unknown, where: ErrorContext): void {
  const name = error instanceof Error ? error.name : 'Error'
  const code = SessionError.isInstance(error) ? error.code : ''
  // oxlint-disable-next-line no-console -- the documented default; hosts hand in `onError`
  console.error(`bowline: a fault during ${where.during}: ${name} ${code}`.trim(), where.runId ?? '')
}
