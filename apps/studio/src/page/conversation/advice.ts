import type { TurnNote } from './margins.ts'

export interface Advice {
  /** Error code of the API. */
  readonly code: string
  readonly message: string
  readonly whatToDo: string
}

const byCode: Readonly<Record<string, string>> = {
  auth: 'Check the key, then start the server again.',
  'auth-permanent': 'Check the key, then start the server again.',
  permission: 'The key may not use this model. Choose another one with DEMO_MODEL.',
  billing: 'The account has no credit left. Look at the bill of the provider.',
  'rate-limit': 'Wait a moment and send it again.',
  overloaded: 'The provider is busy. Wait a moment and send it again.',
  'server-error': 'The provider had a fault. Send it again.',
  'stream-broken': 'The answer was cut off. Send it again.',
  network: 'The provider could not be reached. Check the network and the address.',
  timeout: 'The provider took too long. Send it again.',
  'model-not-found': 'Choose a model that exists with DEMO_MODEL.',
  'context-overflow': 'The conversation is too long for this model. Start a new session.',
  'content-blocked': 'The provider declined to answer this. Ask in another way.',
  disconnected: 'The server is out of reach. The run goes on there; reload to see it.',
  busy: 'A run is open in this session. Wait for it, answer it or stop it.',
  'tool-result-conflict': 'Somebody else answered first, perhaps in another tab.',
  unauthenticated:
    'The token of this page is not valid any more. Reload the page; a studio before another server must be started with a new token.',
  'scope-missing': 'The token of this page may not do that. Start the studio with a token that has the scope.',
  'body-too-large': 'The message is too long. Shorten it.',
}

export function adviceFor(code: string, message: string, keyVariable?: string): Advice {
  const about = code.startsWith('auth') && keyVariable !== undefined ? `The key is in ${keyVariable}. ` : ''
  return { code, message, whatToDo: about + (byCode[code] ?? 'The session stays usable: send another message.') }
}

export function adviceForError(error: NonNullable<TurnNote['error']>, keyVariable?: string): Advice {
  return adviceFor('kind' in error ? error.kind : error.code, error.message, keyVariable)
}
