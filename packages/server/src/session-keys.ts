import { base64url } from './base64url.ts'
import { sha256 } from './hash.ts'
import type { Principal } from './auth/principal.ts'

/** What a client may name. */
export const sessionIdForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

/** A session that another one handed work to, at any depth: to be looked at only. */
const childIdForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(?:~[a-z][a-z0-9_-]{0,51}~[A-Za-z0-9_-]{1,80})+$/
/** With the longest tenant it is a key that a store takes. */
const maxChildIdCharacters = 600

/** Whether a client may name it where it looks only. */
export function isReadableId(id: string): boolean {
  return sessionIdForm.test(id) || (id.length <= maxChildIdCharacters && childIdForm.test(id))
}

const idBytes = 16

/** The prefix of every key of a tenant. A tenant has no colon, so no id reaches the key of another tenant. */
export function keyPrefix(tenant: string): string {
  return `tenant:${tenant}:s:`
}

export function sessionKey(tenant: string, sessionId: string): string {
  return keyPrefix(tenant) + sessionId
}

export function sessionIdOf(tenant: string, key: string): string {
  return key.slice(keyPrefix(tenant).length)
}

export function isOfTenant(tenant: string, key: string): boolean {
  return key.startsWith(keyPrefix(tenant))
}

export function randomSessionId(): string {
  return `s_${base64url(crypto.getRandomValues(new Uint8Array(idBytes)))}`
}

/** The same for every repeat of a request without a session id, so that the repeat finds the session of the first. */
export async function derivedSessionId(principal: Principal, idempotencyKey: string): Promise<string> {
  const digest = await sha256(JSON.stringify(['session', principal.tenant, principal.id, idempotencyKey]))
  return `s_${base64url(digest.subarray(0, idBytes))}`
}

/** The input id of a request with an idempotency key. */
export async function derivedInputId(principal: Principal, route: string, idempotencyKey: string): Promise<string> {
  return base64url(await sha256(JSON.stringify([principal.tenant, principal.id, route, idempotencyKey])))
}
