import type { RequestError } from '@agentclientprotocol/sdk'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { BridgeError, bridgeErrorCodes } from '../errors.ts'
import type { BridgeErrorCode } from '../errors.ts'
import { recordOf } from './meta.ts'

const authRequired = -32000

/** Returns true for an error that a worker sent. By its name: its class is in a package that is loaded on demand. */
export function isRequestError(error: unknown): error is RequestError {
  return error instanceof Error && error.name === 'RequestError'
}

/** The failed call. */
export interface FailedCall {
  readonly agentId: string
  readonly sessionId?: string
  readonly requestId?: string
}

/**
 * Restores the error in the bridge. For a foreign worker, uses the worker's message. An untyped error of a `serveWorker` agent
 * becomes an untyped error again, so callers only learn that the agent failed.
 */
export function bridgeErrorOf(error: RequestError, call: FailedCall): Error {
  const { bowline } = recordOf(error.data)
  const ours = recordOf(bowline)
  if (isCode(ours['code']) && typeof ours['message'] === 'string') {
    return new BridgeError(ours['code'], ours['message'], {
      retryable: ours['retryable'] === true,
      details: recordOf(ours['details']),
    })
  }
  if (bowline !== undefined) return new Error(`Agent ${call.agentId} failed in its process; see the stderr of the process`)
  const upstreamCode: JSONValue = error.data === undefined ? error.code : { code: error.code, data: error.data as JSONObject }
  return new BridgeError(error.code === authRequired ? 'AUTH' : 'UPSTREAM', `Agent ${call.agentId} failed: ${error.message}`, {
    details: { ...call, upstreamCode },
  })
}

function isCode(value: unknown): value is BridgeErrorCode {
  return bridgeErrorCodes.includes(value as BridgeErrorCode)
}
