import type { CallToolResult } from '@modelcontextprotocol/server'
import { errorBody } from '../error-body.ts'
import type { BridgeRedaction } from '../redact.ts'

/** The text block must contain all of `structuredContent`: older clients read only the text. */
export function success(content: object): CallToolResult {
  return { content: [text(content)], structuredContent: { ...content } }
}

/** Errors have no `structuredContent`, because older clients check it against the output schema. */
export function failure(error: unknown, redaction: BridgeRedaction): CallToolResult {
  const body = errorBody(error, redaction)
  return { isError: true, content: [text({ error: body })], _meta: { 'bowline/error': body } }
}

function text(content: object): { type: 'text'; text: string } {
  return { type: 'text', text: JSON.stringify(content, null, 2) }
}
