import type { ModelFunction } from '@bowline/agent-loop'
import type { AssistantMessage, AssistantPart, MessageEvent, MessageStream, ToolCallPart } from '@bowline/llm'
import {
  answerAfter,
  argumentDelta,
  argumentsText,
  countRole,
  eventsOf,
  textDelta,
  toolName,
  type Answer,
  type Contender,
} from '../contender.ts'
import { contenderAgent, packageUrl, prepareAgent } from './bowline.ts'

/** Bowline with a model function: its own stream, without a provider. */
export const contender: Contender = {
  packageUrl,
  prepare(answers) {
    return prepareAgent(contenderAgent(functionModel(answers), answers.length), async ({ onText }) => {
      for await (const event of streamAfter(answers, 0)) if (event.type === 'text-delta') onText?.()
    })
  },
}

/** Creates a model function that gives these answers in order. The number of tool results selects the answer. */
export function functionModel(answers: readonly Answer[]): ModelFunction {
  return ({ messages }) => streamAfter(answers, countRole(messages, 'tool-result'))
}

export function streamAfter(answers: readonly Answer[], step: number): MessageStream {
  return messageStream(answerAfter(answers, step), step)
}

function messageStream(answer: Answer, step: number): MessageStream {
  const messageId = crypto.randomUUID()
  const text = textDelta.repeat(answer.text ?? 0)
  const input = answer.arguments === undefined ? '{}' : argumentsText(answer.arguments)
  const toolCallId = `call-${step}`
  const toolCall: ToolCallPart = { type: 'tool-call', toolCallId, toolName, input: JSON.parse(input) as { readonly text?: string } }
  const content: AssistantPart[] = answer.text === undefined ? [] : [{ type: 'text', text }]
  const index = content.length
  if (answer.arguments !== undefined) content.push(toolCall)
  const message = messageOf(messageId, content)
  const events = eventsOf<MessageEvent>(answer, {
    first: () => ({ type: 'message-start', messageId, provider, modelId, at: message.at }),
    text(offset) {
      if (offset === 0) return { type: 'text-start', index: 0 }
      return offset > (answer.text ?? 0) ? { type: 'text-end', index: 0, text } : { type: 'text-delta', index: 0, delta: textDelta }
    },
    call(offset) {
      if (offset === 0) return { type: 'tool-call-start', index, toolCallId, toolName }
      if (offset > (answer.arguments ?? 0)) return { type: 'tool-call-end', index, toolCall }
      return { type: 'tool-call-delta', index, delta: argumentDelta(input, offset - 1) }
    },
    last: () => ({ type: 'message-end', message }),
  })
  return { messageId, abort: () => undefined, result: () => Promise.resolve(message), [Symbol.asyncIterator]: () => events }
}

const provider = 'benchmark'
const modelId = 'answers'

function messageOf(id: string, content: readonly AssistantPart[]): AssistantMessage {
  return {
    role: 'assistant',
    id,
    content,
    provider,
    modelId,
    stopReason: content.some((part) => part.type === 'tool-call') ? 'tool-calls' : 'stop',
    usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    at: Date.now(),
    timing: { totalMs: 0 },
  }
}
