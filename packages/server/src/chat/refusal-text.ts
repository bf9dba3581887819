import type { ProblemCode, ProblemError } from '../problems.ts'

const later = 'Try again in a moment.'

/** Texts for refusals whose details are for developers. */
const texts: Readonly<Partial<Record<ProblemCode, string>>> = {
  unauthenticated: 'You are not signed in, or no longer. Sign in and send it again.',
  'session-deleted': 'This conversation was deleted. Begin a new one.',
  'session-expired': 'This conversation has expired. Begin a new one.',
  'session-missing': 'There is no such conversation.',
  'id-reused': 'A message of this id was sent before with another content. Send it as a new message.',
  'unknown-tool-call': 'This was answered already, or is no longer asked. Load the page again.',
  'tool-result-conflict': 'This was already answered elsewhere, or its time was over. Load the page again.',
  'approval-conflict': 'This was already decided elsewhere, or its time was over. Load the page again.',
  'unknown-approval': 'This is no longer asked. Load the page again.',
  'cursor-expired': 'The beginning of this answer is no longer kept. Load the page again.',
  'entry-too-large': 'The message is too large.',
  'body-too-large': 'The message is too large.',
  'rate-limited': `Too many messages in a short time. ${later}`,
  'too-many-runs': `The assistant has too much to do right now. ${later}`,
  'too-many-streams': `The assistant has too much to do right now. ${later}`,
  'queue-full': `Too many messages wait in this conversation. ${later}`,
  draining: `The assistant is being restarted. ${later}`,
  'store-unavailable': `The assistant cannot be reached. ${later}`,
  'auth-unavailable': `It cannot be checked now who you are. ${later}`,
  internal: `Something went wrong. ${later}`,
}

/** Returns the text of a refusal. The AI SDK shows the body of a refusal as the message of its error. */
export function refusalText({ code, message }: ProblemError): string {
  return texts[code] ?? message
}
