import type { RuntimeParams } from '@bowline/llm'
import type { SessionContext } from '../agent.ts'
import type { FoundAgent } from '../agent-directory.ts'
import type { RequestOptions } from '../bridge-contract.ts'
import type { Core } from '../core.ts'
import { idOfKey, payloadHash } from '../input/check-input.ts'
import type { ActiveRequest, RequestCall } from '../requests/request-registry.ts'
import { beginOf } from '../requests/request-record.ts'
import type { RequestKind, RequestRecord } from '../requests/request-record.ts'

const usualInactivityMs = 2 * 60_000

export interface CallParts {
  readonly kind: RequestKind
  readonly input: Pick<RequestOptions, 'owner' | 'requestId' | 'idempotencyKey' | 'timeoutMs' | 'abortSignal'>
  readonly sessionId: string
  /** Parts of the input that must match for a repeated call. */
  readonly payload: object
}

/** Converts a call to the form that the request registry uses. */
export function callOf({ settings }: Core, { kind, input, sessionId, payload }: CallParts): RequestCall {
  const { owner = 'local', requestId, idempotencyKey, timeoutMs = settings.timeoutMs, abortSignal } = input
  const given = requestId ?? (idempotencyKey === undefined ? undefined : idOfKey(kind, idempotencyKey))
  return {
    owner,
    kind,
    payloadHash: payloadHash(payload),
    deadlineAt: settings.clock.now() + timeoutMs,
    abortSignal,
    ids: { requestId: given ?? settings.ids.next('req'), sessionId, agentId: '' },
    isRepeatable: given !== undefined,
  }
}

export interface RecordParts {
  readonly session: SessionContext
  readonly durable: boolean
  readonly prompt: string
  readonly runtimeParams: RuntimeParams
}

/** Returns the record of an accepted request. For durable agents it contains the prompt, so that it can be sent again. */
export function newRecord({ settings, processes }: Core, { request, place }: ActiveRequest, parts: RecordParts): RequestRecord {
  const { session, durable, prompt, runtimeParams } = parts
  return {
    requestId: request.ids.requestId,
    owner: request.owner,
    kind: request.kind,
    payloadHash: request.payloadHash,
    sessionId: session.sessionId,
    agentId: session.agentId,
    durable,
    home: processes.id,
    status: place && !place.taken ? 'queued' : 'running',
    createdAt: settings.clock.now(),
    deadlineAt: request.watch.deadlineAt,
    begins: beginOf(prompt),
    ...(durable && { work: { session, prompt, runtimeParams } }),
  }
}

/** Sets the inactivity timeout for this agent. */
export function limitSilence({ settings }: Core, { request }: ActiveRequest, { executor }: FoundAgent): void {
  request.watch.limitSilence(settings.inactivityMs ?? executor.limits?.inactivityMs ?? usualInactivityMs)
}
