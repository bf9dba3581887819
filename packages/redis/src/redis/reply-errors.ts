import type { SessionErrorCode } from '@bowline/sessions'
import { SessionError } from '@bowline/sessions/store-parts'

/** Meanings of the codes at the start of error texts. The text itself may contain arguments, so it is never shown. */
const meanings: Readonly<Record<string, { readonly code: SessionErrorCode; readonly text: string }>> = {
  OOM: { code: 'store-full', text: 'is full: raise its maxmemory, or delete records' },
  WRONGPASS: { code: 'invalid-config', text: 'refuses the user or the password. Correct them' },
  NOAUTH: { code: 'invalid-config', text: 'wants a password. Add it to the URL' },
  NOPERM: { code: 'invalid-config', text: 'does not let this user execute scripts on these keys. Allow it in its ACL' },
  NOPROTO: { code: 'invalid-config', text: 'is too old: Redis 6.2 or later is needed' },
  CROSSSLOT: { code: 'invalid-config', text: 'is a cluster: give the store a client made with createCluster' },
  MOVED: { code: 'invalid-config', text: 'is part of a cluster: give the store a client made with createCluster' },
  WRONGTYPE: { code: 'store-corrupt', text: 'has other data under the keys of the store. Give the store another prefix' },
}

const passing = 'cannot execute scripts now'

/** Returns the code of an error reply. Undefined for a failure of the connection. */
export function replyCode(error: unknown): string | undefined {
  return error instanceof Error ? /^([A-Z][A-Z0-9]+)(?: |$)/.exec(error.message)?.[1] : undefined
}

/** Creates the error for an error reply. The server has executed nothing. */
export function replyError(name: string, code: string): SessionError {
  const { code: sessionCode, text } = meanings[code] ?? { code: 'store-unavailable' as const, text: passing }
  return new SessionError(sessionCode, `${name} ${text} (${code}).`)
}

/** True for a programming error of this package or the client. It is rethrown unchanged. */
export function isMistake(error: unknown): boolean {
  return [TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => error instanceof kind)
}
