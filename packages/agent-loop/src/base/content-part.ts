import type { ContentPart, ToolOutput } from '@bowline/llm'
import { isRecord } from './json.ts'

/** A text or file part, of a user's message or of a tool's output. */
export function isContentPart(value: unknown): value is ContentPart {
  if (!isRecord(value) || !isOptions(value['providerOptions'])) return false
  if (value['type'] === 'text') return typeof value['text'] === 'string'
  return value['type'] === 'file' && typeof value['mediaType'] === 'string' && isOptionalText(value['filename']) && isFileData(value['data'])
}

export function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

/** Absent, or one object for each provider. */
function isOptions(value: unknown): boolean {
  return value === undefined || (isRecord(value) && Object.values(value).every(isRecord))
}

export function isFileData(data: unknown): boolean {
  if (!isRecord(data)) return false
  if (data['type'] === 'data') return typeof data['data'] === 'string'
  return data['type'] === 'url' && typeof data['url'] === 'string'
}

/** Whether a JSON value is the output of a tool. */
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
