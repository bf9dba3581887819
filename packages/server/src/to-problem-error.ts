import type { SessionErrorCode, SessionErrorFacts } from '@bowline/sessions'
import { faulty, ProblemError, titleOf, type ProblemCode } from './problems.ts'

/** Problem code for each error code of the session layer. The same name is used if the server has it. */
const codeOfSessionError: Readonly<Record<SessionErrorCode, ProblemCode>> = {
  'invalid-config': 'internal',
  'invalid-key': 'internal',
  'invalid-input': 'invalid-input',
  'invalid-cursor': 'invalid-cursor',
  'unknown-agent': 'unknown-agent',
  'agent-mismatch': 'session-exists',
  'unknown-run': 'unknown-run',
  'unknown-entry': 'unknown-entry',
  'unknown-tool-call': 'unknown-tool-call',
  'tool-result-conflict': 'tool-result-conflict',
  'unknown-approval': 'unknown-approval',
  'approval-conflict': 'approval-conflict',
  'unknown-schedule': 'unknown-schedule',
  'session-missing': 'session-missing',
  'session-expired': 'session-expired',
  'session-deleted': 'session-deleted',
  // The server creates a new handle for each request.
  'handle-closed': 'internal',
  'summary-failed': 'summary-failed',
  busy: 'busy',
  'id-reused': 'id-reused',
  'cursor-expired': 'cursor-expired',
  'cursor-ahead': 'cursor-ahead',
  'store-unavailable': 'store-unavailable',
  'store-locked': 'store-unavailable',
  'store-corrupt': 'store-corrupt',
  'store-full': 'store-full',
  'schema-too-new': 'internal',
  'entry-too-large': 'entry-too-large',
  conflict: 'store-unavailable',
  'queue-full': 'queue-full',
}

const sessionErrorMarker = Symbol.for('bowline.sessions.error')

type SessionErrorLike = SessionErrorFacts & { readonly code: SessionErrorCode }

/** Recognizes the error by its marker: importing the class would load the whole runtime into this entry. */
function isSessionError(error: unknown): error is SessionErrorLike {
  return typeof error === 'object' && error !== null && sessionErrorMarker in error
}

/** Returns true if the error is a session error with this code. */
export function hasCode(error: unknown, code: SessionErrorCode): boolean {
  return isSessionError(error) && error.code === code
}

/** Converts an error to a problem for the caller. Texts of lower layers name keys and tenants, so they are never sent. */
export function toProblemError(error: unknown): ProblemError {
  if (error instanceof ProblemError) return error
  if (!isSessionError(error)) return new ProblemError('internal', 'The request could not be carried out.', { cause: error })
  const { refused, issues, runId, firstSeq } = error
  const code = codeOfSessionError[error.code]
  if (code === 'invalid-input' && issues && issues.length > 0) return faulty(code, issues, { cause: error })
  return new ProblemError(code, detailOf(code), {
    cause: error,
    ...(refused && { refused }),
    ...(runId !== undefined && { runId }),
    ...(firstSeq !== undefined && { firstSeq }),
  })
}

const details: Partial<Record<ProblemCode, string>> = {
  busy: 'Wait for the run, answer what it waits for, or stop it.',
  'cursor-expired': 'Load the session and continue from its cursor.',
  'id-reused': 'Use a new key for new content.',
  'unknown-tool-call': 'The calls listed in refused are not waiting for a result; nothing was stored.',
  'tool-result-conflict': 'The calls listed in refused already have another outcome; nothing was stored.',
}

function detailOf(code: ProblemCode): string {
  return details[code] ?? `${titleOf(code)}.`
}
