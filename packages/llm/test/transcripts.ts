import {
  toPrompt,
  type AssistantMessage,
  type AssistantPart,
  type Message,
  type ToolCallPart,
  type ToPromptOptions,
  type ToolResultMessage,
} from '../src/index.ts'

const model = { provider: 'acme.chat', modelId: 'm1' }

export const user = (content: string): Message => ({ role: 'user', content })
export const assistant = (content: readonly AssistantPart[], more: Partial<AssistantMessage> = {}): AssistantMessage => ({
  role: 'assistant',
  id: 'msg',
  content,
  ...model,
  stopReason: 'stop',
  usage: {},
  at: 1,
  timing: { totalMs: 1 },
  ...more,
})
export const toolCall = (toolCallId: string, more: Partial<ToolCallPart> = {}): ToolCallPart => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'x',
  input: { a: 1 },
  ...more,
})
export const result = (toolCallId: string, value = 'ok'): ToolResultMessage => ({
  role: 'tool-result',
  toolCallId,
  toolName: 'x',
  output: { type: 'text', value },
})
export const text = (value: string): AssistantPart => ({ type: 'text', text: value })

export const convert = (messages: readonly Message[], more: Partial<ToPromptOptions> = {}): ReturnType<typeof toPrompt> =>
  toPrompt({ messages, model, ...more })
export const codes = (messages: readonly Message[], more?: Partial<ToPromptOptions>): string[] =>
  convert(messages, more).repairs.map(({ code }) => code)

/** Summarises the prompt: one line per message. */
export const shape = (messages: readonly Message[], more?: Partial<ToPromptOptions>): string[] =>
  convert(messages, more).prompt.map((message) => {
    if (typeof message.content === 'string') return `${message.role}: ${message.content}`
    const parts = message.content.map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return `${part.type === 'text' ? '' : '~'}${part.text}`
      if (part.type === 'tool-call') return `call ${part.toolCallId}`
      if (part.type === 'tool-result')
        return `result ${part.toolCallId}=${'value' in part.output ? JSON.stringify(part.output.value) : part.output.type}`
      return part.type
    })
    return `${message.role}: ${parts.join(', ')}`
  })
