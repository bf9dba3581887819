import type { SessionErrorCode } from '@bowline/sessions'
import { SessionError } from '@bowline/sessions/store-parts'
import { replyCode, replyError } from '../redis/reply-errors.ts'

const name = 'The KV service'

interface Meaning {
  readonly text: RegExp
  readonly code: SessionErrorCode
  readonly message: string
}

/** Limits of the service, recognised by its error texts. */
const limits: readonly Meaning[] = [
  { text: /capacity quota exceeded/i, code: 'store-full', message: 'is full: delete records, or raise its limit' },
  {
    text: /max (request|single record|key) size exceeded/i,
    code: 'entry-too-large',
    message: 'does not take a record of this size. Store less of it',
  },
  {
    text: /max (daily )?requests? limit exceeded/i,
    code: 'store-unavailable',
    message: 'has reached the limit of requests of its plan. Raise it',
  },
]

/** The service answered that the command failed. The text may contain arguments, so it is never shown. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'

  get isUnknownScript(): boolean {
    return replyCode(this) === 'NOSCRIPT'
  }

  toSessionError(): SessionError {
    const limit = limits.find((each) => each.text.test(this.message))
    if (limit) return new SessionError(limit.code, `${name} ${limit.message}.`)
    return replyError(name, replyCode(this) ?? 'ERR')
  }
}

/** Returns the error for a response that answers no command: by its status, or by the reason why there is none. */
export function statusError(status: number | string): SessionError {
  if (status === 401 || status === 403)
    return new SessionError('invalid-config', `${name} refuses the token (status ${status}). Correct it: it must be allowed to write.`)
  if (status === 413) return new SessionError('entry-too-large', `${name} does not take a record of this size. Store less of it.`)
  return new SessionError(
    'invalid-config',
    `The URL of the KV service is not that of a KV service (${typeof status === 'number' ? `status ${status}` : status}). Correct it.`,
  )
}

/** After status 429 the change was not made. After any other status the outcome is unknown. */
export function busyError(status: number, waitMs: number): SessionError {
  const outcome = status === 429 ? '' : ' A change may or may not have been made. Read the record to find out.'
  return new SessionError(
    'store-unavailable',
    `${name} is busy (status ${status}) and asks to wait ${Math.ceil(waitMs / 1_000)} s.${outcome}`,
  )
}

export function unreachableError(code: string): SessionError {
  return new SessionError('store-unavailable', `${name} cannot be reached (${code}). Correct its URL, or try again.`)
}
