import type { CallToolResult } from '@modelcontextprotocol/server'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { BridgeError } from '../errors.ts'
import type { BridgeErrorBody, BridgeErrorDetails } from '../errors.ts'
import { redactText, redactValue } from '../redact.ts'

/** The text block must say all that `structuredContent` says: older clients read only the text. */
export function success(content: object): CallToolResult {
  return { content: [text(content)], structuredContent: { ...content } }
}

/** No `structuredContent`: older clients check it against the output schema also on errors. */
export function failure(error: unknown): CallToolResult {
  const body = errorBody(error)
  return { isError: true, content: [text({ error: body })], _meta: { 'bowline/error': body } }
}

function text(content: object): { type: 'text'; text: string } {
  return { type: 'text', text: JSON.stringify(content, null, 2) }
}

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
export function errorBody(error: unknown): BridgeErrorBody {
  if (!BridgeError.isInstance(error)) return { code: 'INTERNAL', message: 'Internal error', retryable: false, details: {} }
  const details: JSONObject = {}
  for (const name of detailNames) {
    const value = error.details[name] as JSONValue | undefined
    if (value !== undefined) details[name] = redactValue(value)
  }
  return { code: error.code, message: redactText(error.message), retryable: error.retryable, details }
}
