import { base64url } from './base64url.ts'
import { sha256 } from './hash.ts'
import type { Principal } from './auth/principal.ts'

/** Form of a session id from a client. */
export const sessionIdForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

/** Form of the id of a child session, at any depth. Clients can only read it. */
const childIdForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}(?:~[a-z][a-z0-9_-]{0,51}~[A-Za-z0-9_-]{1,80})+$/
/** With the longest tenant, the key still fits every store. */
const maxChildIdCharacters = 600

/** Returns true if a client may use the id in a read. */
export function isReadableId(id: string): boolean {
  return sessionIdForm.test(id) || (id.length <= maxChildIdCharacters && childIdForm.test(id))
}

const idBytes = 16

/** Returns the prefix of all keys of a tenant. A tenant contains no colon, so no id can form the key of another tenant. */
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

/** Returns the session id of a request without one. Retries get the same id and so find the same session. */
export async function derivedSessionId(principal: Principal, idempotencyKey: string): Promise<string> {
  const digest = await sha256(JSON.stringify(['session', principal.tenant, principal.id, idempotencyKey]))
  return `s_${base64url(digest.subarray(0, idBytes))}`
}

/** Returns the input id of a request with an idempotency key. */
export async function derivedInputId(principal: Principal, route: string, idempotencyKey: string): Promise<string> {
  return base64url(await sha256(JSON.stringify([principal.tenant, principal.id, route, idempotencyKey])))
}
