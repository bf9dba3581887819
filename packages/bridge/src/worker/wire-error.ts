import { RequestError } from '@agentclientprotocol/sdk'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { BridgeError, bridgeErrorCodes } from '../errors.ts'
import type { BridgeErrorCode } from '../errors.ts'
import { recordOf } from './meta.ts'

const internalError = -32603
const authRequired = -32000

/** An error of an agent as it goes to the bridge: its own whole, any other without its text. */
export function requestErrorOf(error: unknown): RequestError {
  if (!BridgeError.isInstance(error)) return new RequestError(internalError, 'Agent failed')
  const { code, message, retryable, details } = error
  return new RequestError(internalError, message, { bowline: { code, message, retryable, details } })
}

/** The same error on the side of the bridge; of a foreign worker, what it said. */
export function bridgeErrorOf(error: RequestError, agentId: string): BridgeError {
  const ours = recordOf(recordOf(error.data)['bowline'])
  if (isCode(ours['code']) && typeof ours['message'] === 'string') {
    return new BridgeError(ours['code'], ours['message'], {
      retryable: ours['retryable'] === true,
      details: recordOf(ours['details']),
    })
  }
  const upstreamCode: JSONValue = error.data === undefined ? error.code : { code: error.code, data: error.data as JSONObject }
  return new BridgeError(error.code === authRequired ? 'AUTH' : 'UPSTREAM', `Agent ${agentId} failed: ${error.message}`, {
    details: { agentId, upstreamCode },
  })
}

function isCode(value: unknown): value is BridgeErrorCode {
  return bridgeErrorCodes.includes(value as BridgeErrorCode)
}
