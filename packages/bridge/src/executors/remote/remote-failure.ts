import { ClientError } from '@bowline/client'
import type { JSONValue } from '@bowline/llm'
import { BridgeError } from '../../errors.ts'
import type { BridgeErrorCode } from '../../errors.ts'

/** Error codes of the server that are more specific than its HTTP status. */
const codeByProblem: Readonly<Record<string, BridgeErrorCode>> = {
  busy: 'BUSY',
  'session-expired': 'EXPIRED',
  'session-deleted': 'NOT_FOUND',
  'unknown-tool-call': 'NOT_FOUND',
  'invalid-config': 'CONFIG',
  'redirect-refused': 'CONFIG',
  'token-failed': 'AUTH',
  'invalid-answer': 'UPSTREAM',
  'frame-too-large': 'UPSTREAM',
}

const codeByStatus: Readonly<Record<number, BridgeErrorCode>> = {
  401: 'AUTH',
  403: 'AUTH',
  404: 'NOT_FOUND',
  413: 'CAPACITY',
  429: 'CAPACITY',
  503: 'CAPACITY',
}

/** Errors after which no prompt can succeed in this session. */
const endsSession: readonly string[] = ['session-missing', 'session-expired', 'session-deleted']

export interface RemotePlace {
  readonly agentId: string
  /** Whether the server continues the work without this process and accepts the same request again. */
  readonly durable: boolean
}

/** Converts a refusal of the server, or a failed connection, to a `BridgeError` without the server's own text. */
export function remoteFailure(error: unknown, { agentId, durable }: RemotePlace): unknown {
  if (!ClientError.isInstance(error)) return error
  const { code, status, retryAfterMs, retryable, problem } = decisive(error)
  const reached = status !== undefined
  // If the refusal does not come from the server itself but, for example, from a proxy, only the status is reliable.
  const said = problem || !reached || status < 400 ? codeByProblem[code] : undefined
  const bridgeCode = said ?? (reached ? codeOfStatus(status) : 'TRANSPORT')
  return new BridgeError(bridgeCode, messageOf(agentId, code, status), {
    retryable: retryableBy(bridgeCode, durable, retryable),
    details: {
      agentId,
      reason: code,
      outcome: reached && status < 500 ? 'none' : 'unknown',
      ...(reached && { upstreamCode: status }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(endsSession.includes(code) && { sessionValid: false }),
      ...(problem?.refused && { issues: problem.refused.map(issueOf) }),
    },
  })
}

export function isMissing(error: unknown): boolean {
  return ClientError.isInstance(error) && endsSession.includes(error.code)
}

/** Returns the underlying refusal if the client gave up reconnecting, for example because a proxy is overloaded. */
function decisive(error: ClientError): ClientError {
  const { cause } = error
  return error.code === 'disconnected' && ClientError.isInstance(cause) && cause.status !== undefined ? cause : error
}

function codeOfStatus(status: number): BridgeErrorCode {
  return codeByStatus[status] ?? (status >= 500 ? 'UPSTREAM' : 'PROTOCOL')
}

function retryableBy(code: BridgeErrorCode, durable: boolean, said: boolean): boolean {
  if (code === 'TRANSPORT') return durable
  return code === 'BUSY' || code === 'CAPACITY' || (code === 'UPSTREAM' && said)
}

function messageOf(agentId: string, code: string, status: number | undefined): string {
  return status === undefined
    ? `The server of agent ${agentId} could not be reached: ${code}`
    : `The server of agent ${agentId} answered ${status}: ${code}`
}

function issueOf({ id, code }: { readonly id: string; readonly code: string }): JSONValue {
  return { path: 'answers', id, message: code }
}
