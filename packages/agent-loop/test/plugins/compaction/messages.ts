import type { AssistantMessage, AssistantPart, JSONValue, Usage } from '@bowline/llm'
import type { ModelName, OutcomeStatus, StoredMessage, ToolResult } from '../../../src/index.ts'

export const testModel: ModelName = { provider: 'scripted', modelId: 'scripted-model' }

export function user(id: string, content = id): StoredMessage & { role: 'user' } {
  return { role: 'user', id, content }
}

export function answer(
  id: string,
  content: string | readonly AssistantPart[] = id,
  fields: Partial<AssistantMessage> = {},
): AssistantMessage {
  return {
    role: 'assistant',
    id,
    ...testModel,
    stopReason: 'stop',
    usage: {},
    at: 0,
    timing: { totalMs: 0 },
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : content,
    ...fields,
  }
}

export function call(toolCallId: string, toolName = 'read', input: JSONValue = {}): AssistantPart {
  return { type: 'tool-call', toolCallId, toolName, input }
}

export function result(toolCallId: string, value = 'done', toolName = 'read', status: OutcomeStatus = 'result'): ToolResult {
  return { role: 'tool-result', id: `r-${toolCallId}`, toolCallId, toolName, output: { type: 'text', value }, at: 0, status, index: 0 }
}

/** Returns an answer with one call, and its result. */
export function step(id: string, input: JSONValue = {}, output = 'done', toolName = 'read'): readonly StoredMessage[] {
  return [answer(id, [call(`c-${id}`, toolName, input)], { stopReason: 'tool-calls' }), result(`c-${id}`, output, toolName)]
}

export function used(inputTokens: number, outputTokens: number): { usage: Usage } {
  return { usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } }
}

/** Returns a text of this many characters. */
export function long(characters: number, letter = 'x'): string {
  return letter.repeat(characters)
}
