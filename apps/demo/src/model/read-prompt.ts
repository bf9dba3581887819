import type { Question, ToolAnswer } from './intent.ts'
import type { Prompt, ToolMessage, ToolOutput } from './language-model.ts'

/** The last user message and what the tools answered since. */
export function readPrompt(prompt: Prompt): Omit<Question, 'isSpare'> {
  const last = prompt.findLastIndex((message) => message.role === 'user')
  const user = prompt[last]
  return {
    text: user?.role === 'user' ? user.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ') : '',
    results: prompt.slice(last + 1).flatMap((message) => (message.role === 'tool' ? answersOf(message) : [])),
  }
}

function answersOf(message: ToolMessage): readonly ToolAnswer[] {
  return message.content.flatMap((part) =>
    part.type === 'tool-result' ? [{ toolName: part.toolName, ...readOutput(part.output) }] : [],
  )
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
