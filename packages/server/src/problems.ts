import type { Problem } from '@bowline/client'
import type { Redaction } from '@bowline/llm'

interface ProblemKind {
  readonly status: number
  readonly title: string
  /** Delay in ms after which the same request may succeed. */
  readonly retryAfterMs?: number
}

const kinds = {
  'invalid-body': { status: 400, title: 'The body is not valid for this route' },
  'invalid-query': { status: 400, title: 'The query or a header is not valid for this route' },
  'context-required': { status: 400, title: 'A new session needs a context' },
  'invalid-cursor': { status: 400, title: 'The cursor is not from this log' },
  unauthenticated: { status: 401, title: 'Valid credentials are needed' },
  'scope-missing': { status: 403, title: 'The credentials do not allow this' },
  'origin-not-allowed': { status: 403, title: 'Requests from pages of this origin are not allowed' },
  'host-not-allowed': { status: 403, title: 'Requests with this host name or from this address are not allowed' },
  'client-tools-not-allowed': { status: 403, title: 'The agent does not accept these tools from a client' },
  'model-not-allowed': { status: 403, title: 'The agent does not offer this model' },
  'option-not-allowed': { status: 403, title: 'The agent does not allow this option' },
  'url-not-allowed': { status: 403, title: 'Addresses from a client are not fetched' },
  'session-missing': { status: 404, title: 'There is no such session' },
  'session-expired': { status: 410, title: 'The session has expired' },
  'session-deleted': { status: 410, title: 'The session was deleted' },
  'unknown-run': { status: 404, title: 'There is no such run in this session' },
  'unknown-entry': { status: 404, title: 'There is no such entry in this session' },
  'unknown-agent': { status: 404, title: 'There is no such agent' },
  'unknown-approval': { status: 404, title: 'There is no such question in this session' },
  'unknown-request': { status: 404, title: 'There is no such request in this session' },
  'unknown-notice': { status: 404, title: 'There is no such notice in this session' },
  'unknown-schedule': { status: 404, title: 'There is no such schedule in this session' },
  'route-not-found': { status: 404, title: 'There is no such route' },
  'method-not-allowed': { status: 405, title: 'The route does not support this method' },
  'not-acceptable': { status: 406, title: 'The route does not support an accepted media type' },
  busy: { status: 409, title: 'A run of the session is open' },
  'session-exists': { status: 409, title: 'The session already exists' },
  'tool-result-conflict': { status: 409, title: 'A result contradicts what is stored' },
  'approval-conflict': { status: 409, title: 'The question was already decided differently, or its input has changed' },
  'cursor-ahead': { status: 409, title: 'The cursor is beyond the end of the log' },
  'cursor-expired': { status: 410, title: 'The log no longer holds that position' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'entry-too-large': { status: 413, title: 'The input is too large for the store' },
  'unsupported-media-type': { status: 415, title: 'The body must be application/json' },
  'id-reused': { status: 422, title: 'The idempotency key was used with other content' },
  'unknown-tool-call': { status: 422, title: 'A result is for a call that is not waiting for one' },
  'invalid-input': { status: 422, title: 'The input is not valid' },
  'rate-limited': { status: 429, title: 'Too many requests', retryAfterMs: 1000 },
  'too-many-runs': { status: 429, title: 'Too many runs of this tenant are active', retryAfterMs: 1000 },
  'too-many-streams': { status: 429, title: 'Too many streams are open', retryAfterMs: 1000 },
  'queue-full': { status: 429, title: 'Too many inputs are pending in this session', retryAfterMs: 1000 },
  'summary-failed': { status: 502, title: 'The model gave no summary, and nothing has changed' },
  internal: { status: 500, title: 'The server failed' },
  draining: { status: 503, title: 'The server is shutting down', retryAfterMs: 1000 },
  'store-unavailable': { status: 503, title: 'The store does not answer', retryAfterMs: 1000 },
  'store-full': { status: 503, title: 'The store is full' },
  'store-corrupt': { status: 503, title: 'The store is damaged' },
  'auth-unavailable': { status: 503, title: 'The credentials cannot be checked now', retryAfterMs: 1000 },
} as const satisfies Readonly<Record<string, ProblemKind>>

/** Code of a refused request, as the field `code` of a problem body. */
export type ProblemCode = keyof typeof kinds

/** All codes of a refused request. */
export const problemCodes = Object.keys(kinds) as readonly ProblemCode[]

export type ProblemFacts = Pick<Problem, 'errors' | 'refused' | 'runId' | 'firstSeq'>

/** Error that ends a request with a problem body. `detail` must hold nothing that the caller did not send or may not know. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  /** Undefined if a retry cannot succeed. */
  readonly retryAfterMs: number | undefined
  readonly facts: ProblemFacts
  readonly headers: Readonly<Record<string, string>>

  constructor(code: ProblemCode, detail: string, { headers = {}, retryAfterMs, cause, ...facts }: ProblemOptions = {}) {
    super(detail, cause === undefined ? undefined : { cause })
    const kind: ProblemKind = kinds[code]
    this.code = code
    this.retryAfterMs = retryAfterMs ?? kind.retryAfterMs
    this.facts = facts
    this.headers = headers
  }
}

export type Fault = NonNullable<Problem['errors']>[number]

const maxFaults = 20
const maxFaultLength = 200

type FaultyCode = 'invalid-body' | 'invalid-query' | 'invalid-input'

/**
 * Returns the refusal of a request with these faults. The detail holds the first fault and the number of others. `root` names the
 * place whose path is empty.
 */
export function faulty(
  code: FaultyCode,
  faults: readonly Fault[],
  { root = '', cause }: { readonly root?: string; readonly cause?: unknown } = {},
): ProblemError {
  const errors = boundFaults(faults)
  const { path = '', message = titleOf(code) } = errors[0] ?? {}
  const place = path || root
  const others = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  return new ProblemError(code, `${place && `${place}: `}${message}${others}`, { errors, cause })
}

/** Returns the first faults, with long texts shortened, and the number of others. A body may have very many faults. */
function boundFaults(faults: readonly Fault[]): readonly Fault[] {
  const first = faults.slice(0, maxFaults).map(({ path, message }) => ({ path: cut(path), message: cut(message) }))
  const leftOut = faults.length - first.length
  return leftOut === 0 ? first : [...first, { path: '', message: `Faults left out: ${leftOut}.` }]
}

function cut(text: string): string {
  return text.length > maxFaultLength ? `${text.slice(0, maxFaultLength)}…` : text
}

interface ProblemOptions extends ProblemFacts {
  /** Delay of a retry, if it is known better than by the code. */
  readonly retryAfterMs?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Cause for the log of the server. It is never sent. */
  readonly cause?: unknown
}

export function statusOf(code: ProblemCode): number {
  return kinds[code].status
}

/** Returns the problem body, with all secrets removed. */
export function problemBody(error: ProblemError, request: { readonly path: string; readonly id: string }, redaction: Redaction): Problem {
  const kind: ProblemKind = kinds[error.code]
  const body: Problem = {
    type: `urn:bowline:problem:${error.code}`,
    title: kind.title,
    status: kind.status,
    detail: error.message,
    instance: request.path,
    code: error.code,
    requestId: request.id,
    retryable: error.retryAfterMs !== undefined,
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
    ...error.facts,
  }
  return redaction.value(body) as Problem
}

export function titleOf(code: ProblemCode): string {
  return kinds[code].title
}
