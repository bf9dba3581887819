import { isEnded as isEndedStatus, isSuspended, statusOf } from '@bowline/agent-loop/events'
import type { RuntimeParams } from '@bowline/llm'
import type { Answer, PendingInput, PromptResult, SessionContext } from '../agent.ts'
import type { BridgeResult, RequestIds, RequestStatus, RequestSummary } from '../bridge-contract.ts'
import { errorFrom, storedError } from '../error-body.ts'
import type { StoredError } from '../errors.ts'
import { BridgeError } from '../errors.ts'

export type RequestKind = 'prompt' | 'delegate' | 'create'

/** A request as stored, from acceptance on. */
export interface RequestRecord {
  readonly requestId: string
  readonly owner: string
  readonly kind: RequestKind
  readonly agentId: string
  readonly sessionId: string
  readonly payloadHash: string
  readonly status: RequestStatus
  readonly createdAt: number
  readonly deadlineAt: number
  /** Start of the prompt, so that people can tell requests apart. */
  readonly begins: string
  readonly durable: boolean
  /** Id of the bridge that works on it. */
  readonly home: string
  /** Input needed to prompt the agent again; only for durable agents. */
  readonly work?: { readonly session: SessionContext; readonly prompt: string; readonly runtimeParams: RuntimeParams }
  readonly outcome?: PromptResult
  readonly error?: StoredError
  /** Questions that are still open while the agent works with some of the answers. */
  readonly asked?: readonly PendingInput[]
  /** Answers given so far, by id. */
  readonly answered?: Readonly<Record<string, Answer>>
}

export function isEnded({ status }: Pick<RequestRecord, 'status'>): boolean {
  return isEndedStatus(statusOf(status))
}

export function isWaiting({ status }: Pick<RequestRecord, 'status'>): boolean {
  return status !== 'queued' && status !== 'running' && isSuspended(status)
}

export function idsOf({ sessionId, agentId, requestId }: RequestRecord): RequestIds {
  return { sessionId, agentId, requestId }
}

/** Converts a record to the result that callers get. */
export function resultOf(record: RequestRecord): BridgeResult {
  const { status, error, outcome, agentId } = record
  if (status === 'error') return { ok: false, error: error ? errorFrom(error) : new BridgeError('INTERNAL', 'Internal error'), agentId }
  return { ok: true, status, ...idsOf(record), ...outcome }
}

const shownCharacters = 120

export function beginOf(prompt: string): string {
  return prompt.length <= shownCharacters ? prompt : `${prompt.slice(0, shownCharacters).toWellFormed()}…`
}

/** Converts a record to its form in lists. */
export function summaryOf(record: RequestRecord): RequestSummary {
  const { status, createdAt, begins } = record
  return { ...idsOf(record), status, createdAt, prompt: begins }
}

/** Returns the record with this result, or undefined if it has already ended: the first end stays. */
export function withResult(record: RequestRecord, result: BridgeResult): RequestRecord | undefined {
  if (isEnded(record)) return undefined
  const { outcome: _before, asked: _asked, work, ...rest } = record
  if (!result.ok) return { ...rest, status: 'error', error: storedError(result.error) }
  const { ok: _ok, status, sessionId: _s, agentId: _a, requestId: _r, progress: _p, ...outcome } = result
  const next = { ...rest, status, outcome: outcome as PromptResult }
  return isEnded(next) ? next : { ...next, ...(work && { work }), ...askedAnew(rest.answered, outcome.pending) }
}

/** Removes answers to questions that the agent asks again, so that they can be answered again. */
function askedAnew(answered: RequestRecord['answered'], pending: readonly PendingInput[] = []): Pick<RequestRecord, 'answered'> {
  if (!answered) return {}
  const asked = new Set(pending.map(({ id }) => id))
  return { answered: Object.fromEntries(Object.entries(answered).filter(([id]) => !asked.has(id))) }
}

export function withStatus(record: RequestRecord, status: 'running'): RequestRecord | undefined {
  return isEnded(record) ? undefined : { ...record, status }
}

/** Returns the record of a request whose bridge is gone and whose work no other process can resume. */
export function lostRequest(record: RequestRecord): RequestRecord | undefined {
  const details = { ...idsOf(record), outcome: 'unknown' as const, reason: 'bridge-lost', sessionValid: false }
  const error = new BridgeError('TRANSPORT', 'The bridge stopped before the request ended', { retryable: false, details })
  return withResult(record, { ok: false, error })
}
