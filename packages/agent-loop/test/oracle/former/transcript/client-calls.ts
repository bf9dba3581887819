import type { AssistantMessage, Message, ToolCallPart } from '@bowline/llm'

/** The calls of an answer that are ours to run, in order. */
export function clientCalls(answer: AssistantMessage): readonly ToolCallPart[] {
  return answer.content.filter((part): part is ToolCallPart => part.type === 'tool-call' && !part.providerExecuted)
}

/** The answer failed, was stopped or was cut: none of its calls may have run. */
export function neverRan({ stopReason }: AssistantMessage): boolean {
  return stopReason !== 'stop' && stopReason !== 'tool-calls'
}

/** The joined text of a message. */
export function textOf(message: Message | undefined): string {
  if (message?.role !== 'assistant') return ''
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
