import type { JSONValue } from '@bowline/llm'
import type { CasResult, StateRead, Versioned } from '@bowline/sessions'
import { parseStored, SessionError } from '@bowline/sessions/store-parts'

/** Reply of a script: an outcome, then details as texts. */
export type Reply = readonly [outcome: string, ...facts: string[]]

/** Returns the texts of a reply; null for a missing value. Converts bytes, which clients can be configured to return. */
export function textsOf(returned: unknown): readonly (string | null)[] {
  if (!Array.isArray(returned)) throw unreadable()
  return (returned as readonly (string | number | Buffer | null | undefined)[]).map((item) => (item == null ? null : item.toString()))
}

export function replyOf(returned: unknown): Reply {
  const [outcome, ...facts] = textsOf(returned)
  if (outcome == null || facts.includes(null)) throw unreadable()
  return [outcome, ...(facts as string[])]
}

export function stateReadOf(reply: Reply): StateRead {
  const [outcome, ...facts] = reply
  if (outcome === 'missing') return { status: 'missing' }
  if (outcome === 'expired') return { status: 'expired', at: Number(facts[0]) }
  if (outcome === 'found') return { status: 'found', value: versionedOf(facts) }
  throw refusalOf(outcome)
}

export function casResultOf(reply: Reply): CasResult {
  const [outcome, ...facts] = reply
  if (outcome === 'ok') return { ok: true, version: Number(facts[0]) }
  if (outcome === 'missing') return { ok: false, reason: 'missing' }
  if (outcome === 'conflict') return { ok: false, reason: 'conflict', current: versionedOf(facts) }
  throw refusalOf(outcome)
}

/** Parses a stored text, which starts with its version. */
export function valueOf(text: string): { readonly version: number; readonly value: JSONValue } {
  const colon = text.indexOf(':')
  return { version: Number(text.slice(0, colon)), value: parseStored<JSONValue>(text.slice(colon + 1), 'A state record') }
}

export function expiryOf(text: string): number | 'never' {
  return text === 'never' ? text : Number(text)
}

function versionedOf([version = '', usedAt = '', expiresAt = '', text = '']: readonly string[]): Versioned {
  return { version: Number(version), value: valueOf(text).value, usedAt: Number(usedAt), expiresAt: expiryOf(expiresAt) }
}

function refusalOf(outcome: string): SessionError {
  if (outcome === 'lost') {
    return new SessionError(
      'store-corrupt',
      'The value of a state record disappeared before its TTL ended: the server evicted it, or its clock was set back. Set its maxmemory-policy to noeviction, and delete the record.',
    )
  }
  return unreadable()
}

function unreadable(): SessionError {
  return new SessionError(
    'store-corrupt',
    'The data under the keys of the store has an unknown form: another program uses these keys. Give the store another prefix.',
  )
}
