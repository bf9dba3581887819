import type { AssistantPart, StopReason } from '@bowline/llm'
import { isContentPart, isFileData, isOptionalText, isToolOutput } from '../base/content-part.ts'
import { isRecord } from '../base/json.ts'
import type { OutcomeStatus } from '../events/types.ts'

/** What is wrong with the shape of a JSON value that should be a message; undefined when nothing is. */
export function wrongShape(given: unknown): string | undefined {
  if (!isRecord(given)) return 'is no message'
  if (!isOptionalText(given['id'])) return 'has an id that is no text'
  switch (given['role']) {
    case 'user':
      return isUserContent(given['content']) ? undefined : 'has content that is neither text nor parts'
    case 'assistant':
      if (!Array.isArray(given['content']) || !given['content'].every(isAssistantPart)) return 'has content that is no list of parts'
      return isStopReason(given['stopReason']) ? undefined : 'has no stopReason'
    case 'tool-result':
      if (typeof given['toolCallId'] !== 'string' || typeof given['toolName'] !== 'string') return 'names no call and tool'
      return isToolOutput(given['output']) ? undefined : 'has no output'
    default:
      return 'has no role of a message'
  }
}

function isUserContent(content: unknown): boolean {
  return typeof content === 'string' || (Array.isArray(content) && content.every(isContentPart))
}

const stopReasons: Readonly<Record<StopReason, true>> = { stop: true, length: true, 'tool-calls': true, error: true, aborted: true }

export function isStopReason(value: unknown): value is StopReason {
  return typeof value === 'string' && Object.hasOwn(stopReasons, value)
}

const statuses: Readonly<Record<OutcomeStatus, true>> = { result: true, error: true, denied: true, cancelled: true, unknown: true }

export function isOutcomeStatus(value: unknown): value is OutcomeStatus {
  return typeof value === 'string' && Object.hasOwn(statuses, value)
}

/** The fields of each kind of part that must be texts. */
const textFields: Readonly<Record<AssistantPart['type'], readonly string[]>> = {
  text: ['text'],
  reasoning: ['text'],
  'tool-call': ['toolCallId', 'toolName'],
  'tool-result': ['toolCallId', 'toolName'],
  file: ['mediaType'],
  'reasoning-file': ['mediaType'],
  source: ['sourceType', 'id'],
  custom: ['kind'],
  'approval-request': ['approvalId', 'toolCallId'],
}

export function isAssistantPart(value: unknown): value is AssistantPart {
  if (!isRecord(value) || typeof value['type'] !== 'string' || !Object.hasOwn(textFields, value['type'])) return false
  const type = value['type'] as AssistantPart['type']
  if (!textFields[type].every((field) => typeof value[field] === 'string')) return false
  if (type === 'tool-call') return 'input' in value
  if (type === 'tool-result') return 'result' in value
  return (type !== 'file' && type !== 'reasoning-file') || isFileData(value['data'])
}
