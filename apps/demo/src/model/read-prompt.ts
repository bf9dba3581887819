import type { Question, ToolAnswer } from './intent.ts'
import type { Prompt, ToolMessage, ToolOutput } from './language-model.ts'

type Asked = Omit<Question, 'isSpare'>
type Message = Prompt[number]

/**
 * Returns the last user message with the tool results since then, and later notices of background tasks. Requests that were
 * answered are left out, so that a notice in a later turn does not repeat the old request.
 */
export function readPrompt(prompt: Prompt): readonly Asked[] {
  const last = prompt.findLastIndex((message) => message.role === 'user' && !isNews(message))
  const since = prompt.slice(last + 1)
  const unanswered = since.slice(since.findLastIndex(isFinal) + 1)
  const news = unanswered.filter(isNews)
  const asked = { text: textOf(prompt[last]), results: resultsIn(since) }
  if (news.length === 0) return [asked]
  const [own, others] = [true, false].map((wanted) => resultsIn(unanswered).filter(({ toolName }) => (toolName === newsTool) === wanted))
  return [
    ...(last >= 0 && unanswered.length === since.length ? [{ ...asked, results: others ?? [] }] : []),
    { text: news.map(textOf).join('\n'), results: own ?? [] },
  ]
}

const newsTool = 'background_output'

/** Notices of the runtime have the role of a user message. */
function isNews(message: Message): boolean {
  return message.role === 'user' && textOf(message).startsWith('<background-task ')
}

function isFinal(message: Message): boolean {
  return message.role === 'assistant' && message.content.every((part) => part.type !== 'tool-call')
}

function textOf(message: Message | undefined): string {
  return message?.role === 'user' ? message.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ') : ''
}

function resultsIn(messages: readonly Message[]): readonly ToolAnswer[] {
  return messages.flatMap((message) => (message.role === 'tool' ? answersOf(message) : []))
}

function answersOf(message: ToolMessage): readonly ToolAnswer[] {
  return message.content.flatMap((part) => (part.type === 'tool-result' ? [{ toolName: part.toolName, ...readOutput(part.output) }] : []))
}

function readOutput(output: ToolOutput): Pick<ToolAnswer, 'outcome' | 'value'> {
  switch (output.type) {
    case 'text':
    case 'json':
      return { outcome: 'result', value: output.value }
    case 'error-text':
    case 'error-json':
      return { outcome: 'error', value: asText(output.value) }
    case 'execution-denied':
      return { outcome: 'denied', value: output.reason ?? 'not allowed' }
    case 'content':
      return { outcome: 'result', value: output.value.map((item) => (item.type === 'text' ? item.text : '')).join('') }
  }
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
