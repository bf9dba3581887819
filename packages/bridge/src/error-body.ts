import type { JSONObject } from '@bowline/llm'
import { idForm } from './arguments.ts'
import { BridgeError, nextStep } from './errors.ts'
import type { BridgeErrorBody, BridgeErrorDetails, StoredError } from './errors.ts'
import { standardRedaction } from './redact.ts'

/** The only fields of an error's details that leave the process. */
const detailNames = [
  'reason',
  'sessionId',
  'agentId',
  'requestId',
  'sessionValid',
  'outcome',
  'retryAfterMs',
  'upstreamCode',
  'stage',
  'issues',
  'pending',
] as const satisfies readonly (keyof BridgeErrorDetails)[]

/** An error as it may leave the process. Of an error that is not the bridge's own nothing leaves. */
export function errorBody(error: unknown, redaction = standardRedaction): BridgeErrorBody {
  if (!BridgeError.isInstance(error)) return errorBody(new BridgeError('INTERNAL', 'Internal error'))
  const details: JSONObject = {}
  for (const name of detailNames) {
    const value = error.details[name]
    if (value !== undefined) details[name] = redaction.value(value)
  }
  return { code: error.code, message: redaction.text(error.message), retryable: error.retryable, next: nextStep(error), details }
}

/** An error as it is stored: all of it that is JSON. */
export function storedError({ code, message, retryable, details }: BridgeError): StoredError {
  return { code, message, retryable, details: JSON.parse(JSON.stringify(details)) as JSONObject }
}

export function errorFrom({ code, message, retryable, details }: StoredError): BridgeError {
  return new BridgeError(code, message, { retryable, details: details })
}

export interface CallFacts {
  readonly sessionId?: string | undefined
  readonly agentId?: string | undefined
  readonly requestId?: string | undefined
  /** Unless the error says it. */
  readonly sessionValid?: boolean | undefined
  /** The session is over with the call, whatever the error says. */
  readonly endsSession?: boolean
}

/** The error with what its call knows. What the error itself says wins. An agent that is not known yet has no id. */
export function withFacts(error: BridgeError, { sessionId, agentId, requestId, sessionValid, endsSession }: CallFacts): BridgeError {
  const ids = Object.entries({ sessionId, agentId, requestId }).filter(([, id]) => id !== undefined && idForm.test(id))
  const details = { ...Object.fromEntries(ids), ...(sessionValid !== undefined && { sessionValid }), ...error.details, ...(endsSession && { sessionValid: false }) }
  const told = new BridgeError(error.code, error.message, { retryable: error.retryable, details })
  return Object.assign(told, { stack: error.stack })
}
