import type { ErrorKind, ModelError } from '@bowline/llm'
import { BridgeError } from './errors.ts'
import type { BridgeErrorCode } from './errors.ts'

const codeByKind: Partial<Record<ErrorKind, BridgeErrorCode>> = {
  auth: 'AUTH',
  'auth-permanent': 'AUTH',
  permission: 'AUTH',
  billing: 'AUTH',
  'model-not-found': 'CONFIG',
  network: 'TRANSPORT',
  timeout: 'TIMEOUT',
}

/** Converts a model error to a `BridgeError`. The session stays valid. */
export function modelFailure({ kind, message, retryable, retryAfterMs }: ModelError, agentId: string): BridgeError {
  return new BridgeError(codeByKind[kind] ?? 'UPSTREAM', message, {
    retryable,
    details: { agentId, upstreamCode: kind, sessionValid: true, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  })
}
