import type { SessionErrorCode } from '@bowline/sessions'
import { SessionError } from '@bowline/sessions/store-parts'

/** Failure of a connection or statement, without the values in it. */
class PostgresFault extends Error {
  override readonly name = 'PostgresFault'
  /** SQLSTATE of Postgres, or code of the system. */
  readonly code: string | undefined

  constructor(code: string | undefined) {
    super(code === undefined ? 'The connection was lost.' : `The code is ${code}.`)
    this.code = code
  }
}

/** Returns the SQLSTATE (five characters) or a code of the system, such as `ECONNREFUSED`. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return error.code
}

function isSqlState(code: string | undefined): boolean {
  // Codes of the system, such as EPIPE, contain no digit.
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)
}

/** True for a missing referenced row or a duplicate key. */
export function violatesConstraint(error: unknown): boolean {
  return codeOf(error)?.startsWith('23') === true
}

/** True if the work was rolled back and a retry may succeed: after a deadlock or a serialization conflict. */
export function isPassing(error: unknown): boolean {
  return ['40001', '40P01'].includes(codeOf(error) ?? '')
}

/** True if another transaction held a row for longer than the lock wait. */
export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03'
}

const connectionClasses = ['08', '57P']

/** True if the connection is lost: statements without an answer may have been executed or not. */
export function isLost(error: unknown): boolean {
  if (SessionError.isInstance(error)) return false
  const code = codeOf(error)
  if (code === undefined) return error instanceof Error && isConnectionText(error.message)
  return isSqlState(code) ? connectionClasses.some((start) => code.startsWith(start)) || code === '25P03' : !code.startsWith('ERR_')
}

/** True for an error of the store if the server answers, and has ended a statement that may succeed when it is repeated. */
export function mayRepeat(error: unknown): boolean {
  return ['40001', '40P01', '57P01'].includes(faultCode(error) ?? '')
}

interface Meaning {
  readonly code: SessionErrorCode
  readonly text: string
}

const mistakes: Readonly<Record<string, Meaning>> = {
  '28P01': { code: 'invalid-config', text: 'The password for Postgres is wrong. Correct it.' },
  '28000': {
    code: 'invalid-config',
    text: 'Postgres does not let this user in: check the user (PGUSER or USER, if the address names none), and pg_hba.conf of the server.',
  },
  '3D000': { code: 'invalid-config', text: 'The database does not exist: create it, or name another one.' },
  '53100': { code: 'store-full', text: 'The disk of Postgres is full.' },
  '53200': { code: 'store-unavailable', text: 'Postgres is out of memory.' },
  '53300': {
    code: 'store-unavailable',
    text: 'Postgres accepts no more connections: lower poolSize, or raise max_connections of the server.',
  },
  '54000': { code: 'entry-too-large', text: 'An id is too long for an index of Postgres, which holds 2,700 bytes.' },
  '55P03': { code: 'store-unavailable', text: 'Another process locked a row for too long. Retry later.' },
  '57P03': { code: 'store-unavailable', text: 'Postgres is starting or shutting down. Retry later.' },
  '25006': {
    code: 'store-unavailable',
    text: 'Postgres takes no writes: this is a replica, or its database is read-only. Connect to the primary.',
  },
  XX001: { code: 'store-corrupt', text: 'Postgres found damaged data.' },
  XX002: { code: 'store-corrupt', text: 'Postgres found a damaged index.' },
}

/** Creates the error for a connection or statement that serves no call of the store. `what` is a sentence without its full stop. */
export function connectionError(what: string, error: unknown): SessionError {
  const code = faultCode(error)
  const text = mistakes[code ?? '']?.text
  const rest = text === undefined ? (code === undefined ? '.' : ` (${code}).`) : `: ${text}`
  return new SessionError(mistakes[code ?? '']?.code ?? 'store-unavailable', `${what}${rest}`, { cause: new PostgresFault(code) })
}

function faultCode(error: unknown): string | undefined {
  return SessionError.isInstance(error) ? faultCode(error.cause) : codeOf(error)
}

/** Turns an error of Postgres into one of the store. `doing` names the attempted work. No text contains a value or an address. */
export function storeError(error: unknown, doing: string): unknown {
  if (SessionError.isInstance(error) || !(error instanceof Error)) return error
  const code = codeOf(error)
  if (!isSqlState(code) && !isLost(error)) return error
  const { code: storeCode, text } = meaningOf(code, error)
  return new SessionError(storeCode, `${text} It was to ${doing}.`, { cause: new PostgresFault(code) })
}

function meaningOf(code: string | undefined, error: Error): Meaning {
  const known = code === undefined ? undefined : mistakes[code]
  if (known) return known
  if (code === '42501') return { code: 'invalid-config', text: `The Postgres user has no permission: ${error.message}. Grant it.` }
  if (code?.startsWith('42') || code === '3F000')
    return { code: 'store-corrupt', text: `The tables in Postgres are not those of this version: ${error.message}.` }
  if (isLost(error))
    return {
      code: 'store-unavailable',
      text: code === undefined || isSqlState(code) ? 'The connection to Postgres was lost.' : `Postgres cannot be reached (${code}).`,
    }
  return { code: 'store-unavailable', text: `Postgres failed with the code ${code}.` }
}

/** Recognises errors of `pg` that have no code. */
function isConnectionText(message: string): boolean {
  return /connection|timeout|not queryable|SSL|client was closed|pool/i.test(message)
}
