import { SessionError } from '../../errors.ts'

/** What became of a connection or a statement. The texts of the driver may name hosts and users: this one has the code alone. */
class ConnectionFault extends Error {
  override readonly name = 'ConnectionFault'
  /** The SQLSTATE of the server, or the code of the operating system. */
  readonly code: string | undefined

  constructor(code: string | undefined) {
    super(`The code is ${code ?? 'unknown'}.`)
    this.code = code
  }
}

/** Returns an error of the store. `what` is a sentence without its full stop. */
export function connectionError(what: string, fault: unknown): SessionError {
  const code = faultCode(fault)
  return new SessionError('store-unavailable', code === undefined ? what : `${what} (${code})`, { cause: new ConnectionFault(code) })
}

function faultCode(fault: unknown): string | undefined {
  if (SessionError.isInstance(fault)) return faultCode(fault.cause)
  return fault instanceof Error && 'code' in fault && typeof fault.code === 'string' ? fault.code : undefined
}
