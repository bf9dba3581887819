import { base64url } from '../base64url.ts'
import { sha256 } from '../hash.ts'

const pagePrefix = 'chat:'
const successorPrefix = 'again:'
const maxInputIdBytes = 200

/**
 * The input id of a message from a page. A message is the same whoever of the tenant sends it: a conversation may be
 * open on two devices.
 */
export function messageInputId(messageId: string): Promise<string> {
  return inputId(pagePrefix, messageId)
}

/** The input id of the run that takes the place of another one. */
export function successorInputId(previous: string): Promise<string> {
  return inputId(successorPrefix, previous)
}

/** What an input id says of where its input came from; nothing if it was not made here, or of an id that is too long. */
export function originOfInput(id = ''): { readonly messageId?: string; readonly previous?: string } {
  if (id.startsWith(pagePrefix)) return { messageId: id.slice(pagePrefix.length) }
  return id.startsWith(successorPrefix) ? { previous: id.slice(successorPrefix.length) } : {}
}

/** Can be read back, so that a page that is loaded again finds its messages under their ids. */
async function inputId(prefix: string, of: string): Promise<string> {
  const id = prefix + of
  return new TextEncoder().encode(id).length > maxInputIdBytes ? base64url(await sha256(JSON.stringify(id))) : id
}
