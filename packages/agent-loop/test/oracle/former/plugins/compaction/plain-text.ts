import type { AssistantPart, ContentPart, JSONValue, Message, ToolOutput } from '@bowline/llm'

/** Of each tool input and output. */
const longestOutput = 2_000

/** A message as a reader of the conversation sees it. Empty for one that says nothing. */
export function plainText(message: Message): string {
  switch (message.role) {
    case 'user':
      return `[user]\n${typeof message.content === 'string' ? message.content : message.content.map(contentText).join('\n')}`
    case 'assistant':
      return message.content.map(partText).filter(Boolean).join('\n')
    case 'tool-result':
      return `[result of ${message.toolName}] ${cut(outputText(message.output))}`
    default: {
      const unknown: never = message
      return unknown
    }
  }
}

function partText(part: AssistantPart): string {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? '' : `[assistant]\n${part.text}`
    case 'tool-call':
      return `[call of ${part.toolName}] ${cut(part.inputText ?? jsonText(part.input))}`
    case 'tool-result':
      return `[result of ${part.toolName}] ${cut(jsonText(part.result))}`
    case 'file':
      return `[assistant gave a file: ${part.mediaType}]`
    case 'reasoning':
    case 'reasoning-file':
    case 'source':
    case 'custom':
    case 'approval-request':
      return ''
    default: {
      const unknown: never = part
      return unknown
    }
  }
}

function outputText(output: ToolOutput): string {
  switch (output.type) {
    case 'text':
      return output.value
    case 'error-text':
      return `error: ${output.value}`
    case 'json':
      return jsonText(output.value)
    case 'error-json':
      return `error: ${jsonText(output.value)}`
    case 'execution-denied':
      return `denied: ${output.reason ?? 'no reason given'}`
    case 'content':
      return output.value.map(contentText).join('\n')
    default: {
      const unknown: never = output
      return unknown
    }
  }
}

function contentText(part: ContentPart): string {
  if (part.type === 'text') return part.text
  return `[file: ${part.filename ?? part.mediaType}]`
}

function jsonText(value: JSONValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function cut(text: string): string {
  const left = text.length - longestOutput
  return left > 0 ? `${text.slice(0, longestOutput).toWellFormed()} [… ${left} characters left out]` : text
}
