import { base64url } from '../base64url.ts'
import { sha256 } from '../hash.ts'

/**
 * The input id of a message from a page. A message is the same whoever of the tenant sends it: a conversation may be
 * open on two devices.
 */
export function messageInputId(messageId: string): Promise<string> {
  return inputId('message', messageId)
}

/** The input id of the run that takes the place of another one. */
export function successorInputId(previous: string): Promise<string> {
  return inputId('successor', previous)
}

async function inputId(kind: string, of: string): Promise<string> {
  return base64url(await sha256(JSON.stringify(['chat', kind, of])))
}
