import { base64url } from '../base64url.ts'
import { sha256 } from '../hash.ts'

const pagePrefix = 'chat:'
const successorPrefix = 'again:'
const maxInputIdBytes = 200

/**
 * Returns the input id of a message from a page. It does not depend on the user within the tenant: a conversation may be open on
 * two devices.
 */
export function messageInputId(messageId: string): Promise<string> {
  return inputId(pagePrefix, messageId)
}

/** Returns the input id of the run that replaces another one. */
export function successorInputId(previous: string): Promise<string> {
  return inputId(successorPrefix, previous)
}

/** Returns the origin of an input by its id. Returns an empty object if the id was not made here or is hashed. */
export function originOfInput(id = ''): { readonly messageId?: string; readonly previous?: string } {
  if (id.startsWith(pagePrefix)) return { messageId: id.slice(pagePrefix.length) }
  return id.startsWith(successorPrefix) ? { previous: id.slice(successorPrefix.length) } : {}
}

/** Keeps the id readable, so that a reloaded page finds its messages under their ids. Too long ids are hashed. */
async function inputId(prefix: string, of: string): Promise<string> {
  const id = prefix + of
  return new TextEncoder().encode(id).length > maxInputIdBytes ? base64url(await sha256(JSON.stringify(id))) : id
}
