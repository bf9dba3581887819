import type { ContentItem, JSONValue, ToolOutput } from '@bowline/llm'
import { isContentPart, isOptionalText } from '../content-part.ts'
import { copyJson, isRecord } from '../json.ts'
import type { ToolReturnValue } from './tool.ts'

/** A string becomes text, content stays content, other JSON becomes json. Throws when `output` is not JSON. */
export function outputOf(output: unknown, isError: boolean): ToolOutput {
  const value = copyJson(output)
  if (typeof value === 'string') return { type: isError ? 'error-text' : 'text', value }
  if (isContent(value) && !isError) return value
  return { type: isError ? 'error-json' : 'json', value }
}

/** What a tool's own `toModelOutput` gave. Throws when it is none of the six shapes. */
export function modelOutputOf(given: unknown): ToolOutput {
  const output = copyJson(given)
  if (!isToolOutput(output)) throw new TypeError('toModelOutput must return a tool output')
  return output
}

/** Of a JSON value. */
export function isToolOutput(given: unknown): given is ToolOutput {
  if (!isRecord(given)) return false
  switch (given['type']) {
    case 'text':
    case 'error-text':
      return typeof given['value'] === 'string'
    case 'json':
    case 'error-json':
      return given['value'] !== undefined
    case 'execution-denied':
      return isOptionalText(given['reason'])
    case 'content':
      return Array.isArray(given['value']) && given['value'].every(isContentPart)
    default:
      return false
  }
}

/** Cuts what is longer to head and tail. */
export function capOutput(output: ToolOutput, maxCharacters: number): ToolOutput {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...output, value: cutMiddle(output.value, maxCharacters) }
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value)
      if (text.length <= maxCharacters) return output
      return { type: output.type === 'json' ? 'text' : 'error-text', value: cutMiddle(text, maxCharacters) }
    }
    case 'content':
      return { ...output, value: capContent(output.value, maxCharacters) }
    case 'execution-denied':
      return output.reason === undefined ? output : { ...output, reason: cutMiddle(output.reason, maxCharacters) }
    default: {
      const unknown: never = output
      return unknown
    }
  }
}

export function cutMiddle(text: string, maxCharacters: number): string {
  const left = text.length - maxCharacters
  if (left <= 0) return text
  const tail = Math.floor(maxCharacters / 2)
  const head = text.slice(0, maxCharacters - tail).toWellFormed()
  return `${head}\n[… ${left} characters left out …]\n${text.slice(text.length - tail).toWellFormed()}`
}

function capContent(items: readonly ContentItem[], maxCharacters: number): readonly ContentItem[] {
  let room = maxCharacters
  return items.map((item) => {
    if (item.type !== 'text') return item
    const text = cutMiddle(item.text, room)
    room = Math.max(0, room - item.text.length)
    return { ...item, text }
  })
}

/** Anything else that calls itself content is JSON like any other. */
function isContent(value: JSONValue): value is JSONValue & { type: 'content'; value: ContentItem[] } {
  return isRecord(value) && value['type'] === 'content' && Object.keys(value).length === 2 && isToolOutput(value)
}

/** The value of a tool in its long form. Throws for anything else. */
export function returnValueOf(returned: unknown): ToolReturnValue {
  if (typeof returned === 'string') return { output: returned }
  if (typeof returned === 'object' && returned !== null && 'output' in returned && returned.output !== undefined) {
    return returned as ToolReturnValue
  }
  throw new TypeError('a tool must return a text or { output }')
}
