import { RequestError } from '@agentclientprotocol/sdk'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { BridgeError, bridgeErrorCodes } from '../errors.ts'
import type { BridgeErrorCode } from '../errors.ts'
import { recordOf } from './meta.ts'

const internalError = -32603
const authRequired = -32000

/** An error of an agent as it goes to the bridge: its own whole, any other without its text. */
export function requestErrorOf(error: unknown): RequestError {
  if (!BridgeError.isInstance(error)) return new RequestError(internalError, 'Agent failed', { bowline: {} })
  const { code, message, retryable, details } = error
  return new RequestError(internalError, message, { bowline: { code, message, retryable, details } })
}

/** Whose call failed. */
export interface FailedCall {
  readonly agentId: string
  readonly sessionId?: string
  readonly requestId?: string
}

/**
 * The same error on the side of the bridge; of a foreign worker, what it said. Any other error of an agent of ours is an
 * untyped one here too, of which the bridge says no more than that the agent failed.
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
  if (bowline !== undefined) return new Error(`Agent ${call.agentId} failed in its process, whose stderr says why`)
  const upstreamCode: JSONValue = error.data === undefined ? error.code : { code: error.code, data: error.data as JSONObject }
  return new BridgeError(error.code === authRequired ? 'AUTH' : 'UPSTREAM', `Agent ${call.agentId} failed: ${error.message}`, {
    details: { ...call, upstreamCode },
  })
}

function isCode(value: unknown): value is BridgeErrorCode {
  return bridgeErrorCodes.includes(value as BridgeErrorCode)
}
