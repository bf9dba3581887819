import type { JSONObject } from '@bowline/llm'
import { BridgeError } from './errors.ts'
import type { BridgeErrorBody, BridgeErrorDetails } from './errors.ts'
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
] as const satisfies readonly (keyof BridgeErrorDetails)[]

/** An error as it may leave the process. Of an error that is not the bridge's own nothing leaves. */
export function errorBody(error: unknown, redaction = standardRedaction): BridgeErrorBody {
  if (!BridgeError.isInstance(error)) return { code: 'INTERNAL', message: 'Internal error', retryable: false, details: {} }
  const details: JSONObject = {}
  for (const name of detailNames) {
    const value = error.details[name]
    if (value !== undefined) details[name] = redaction.value(value)
  }
  return { code: error.code, message: redaction.text(error.message), retryable: error.retryable, details }
}

/** An error as it is stored: all of it that is JSON. */
export function storedError({ code, message, retryable, details }: BridgeError): BridgeErrorBody {
  return { code, message, retryable, details: JSON.parse(JSON.stringify(details)) as JSONObject }
}

export function errorFrom({ code, message, retryable, details }: BridgeErrorBody): BridgeError {
  return new BridgeError(code, message, { retryable, details: details })
}
