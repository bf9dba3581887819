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

/** A model error that came as data, as the error that a caller gets. The agent is as it was: its session goes on. */
export function modelFailure({ kind, message, retryable, retryAfterMs }: ModelError, agentId: string): BridgeError {
  return new BridgeError(codeByKind[kind] ?? 'UPSTREAM', message, {
    retryable,
    details: { agentId, upstreamCode: kind, sessionValid: true, ...(retryAfterMs !== undefined && { retryAfterMs }) },
  })
}
