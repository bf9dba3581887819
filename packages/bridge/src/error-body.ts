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

/** Converts an error to the form in which it leaves the process. Errors other than `BridgeError` become a bare `INTERNAL`. */
export function errorBody(error: unknown, redaction = standardRedaction): BridgeErrorBody {
  if (!BridgeError.isInstance(error)) return errorBody(new BridgeError('INTERNAL', 'Internal error'))
  const details: JSONObject = {}
  for (const name of detailNames) {
    const value = error.details[name]
    if (value !== undefined) details[name] = redaction.value(value)
  }
  return { code: error.code, message: redaction.text(error.message), retryable: error.retryable, next: nextStep(error), details }
}

/** Converts an error to its stored form: all fields that are JSON. */
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
  /** Default if the error does not state it. */
  readonly sessionValid?: boolean | undefined
  /** Set if the session ends with the call; overrides the error. */
  readonly endsSession?: boolean
}

/** Adds the facts of the call to an error; the error's own details win. Ids that are not valid yet are left out. */
export function withFacts(error: BridgeError, { sessionId, agentId, requestId, sessionValid, endsSession }: CallFacts): BridgeError {
  const ids = Object.entries({ sessionId, agentId, requestId }).filter(([, id]) => id !== undefined && idForm.test(id))
  const details = {
    ...Object.fromEntries(ids),
    ...(sessionValid !== undefined && { sessionValid }),
    ...error.details,
    ...(endsSession && { sessionValid: false }),
  }
  const told = new BridgeError(error.code, error.message, { retryable: error.retryable, details })
  return Object.assign(told, { stack: error.stack })
}
