import type { AssistantMessage, AssistantPart, ContentPart, JSONValue, Message, StopReason, ToolCallPart, ToolOutput } from '@bowline/llm'
import { needed } from '@bowline/llm/arguments'
import { outputToolName } from '../events/output.ts'
import type { OutcomeStatus } from '../events/turn-events.ts'
import { checkInput } from './checks.ts'
import { isRecord } from './json.ts'

/** Returns whether a value is a text or file part, of a user message or of a tool's output. */
export function isContentPart(value: unknown): value is ContentPart {
  if (!isRecord(value) || !isOptions(value['providerOptions'])) return false
  if (value['type'] === 'text') return typeof value['text'] === 'string'
  return (
    value['type'] === 'file' && typeof value['mediaType'] === 'string' && isOptionalText(value['filename']) && isFileData(value['data'])
  )
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string'
}

/** Returns whether provider options are absent, or one object per provider. */
function isOptions(value: unknown): boolean {
  return value === undefined || (isRecord(value) && Object.values(value).every(isRecord))
}

function isFileData(data: unknown): boolean {
  if (!isRecord(data)) return false
  if (data['type'] === 'data') return typeof data['data'] === 'string'
  return data['type'] === 'url' && typeof data['url'] === 'string'
}

/** Returns whether a JSON value is the output of a tool. */
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

/** Returns how a call ended, by the type of its output. */
export function statusOfOutput({ type }: ToolOutput): 'result' | 'error' | 'denied' {
  switch (type) {
    case 'text':
    case 'json':
    case 'content':
      return 'result'
    case 'error-text':
    case 'error-json':
      return 'error'
    case 'execution-denied':
      return 'denied'
    default:
      return type satisfies never
  }
}

/** Returns why a JSON value is no message, or undefined if it is one. */
export function wrongShape(given: unknown): string | undefined {
  if (!isRecord(given)) return 'is not a message'
  if (!isOptionalText(given['id'])) return 'has an id that is not a text'
  switch (given['role']) {
    case 'user':
      return isUserContent(given['content']) ? undefined : 'has content that is neither text nor parts'
    case 'assistant':
      if (!Array.isArray(given['content']) || !given['content'].every(isAssistantPart)) return 'has content that is not a list of parts'
      return isStopReason(given['stopReason']) ? undefined : 'has no stopReason'
    case 'tool-result':
      if (typeof given['toolCallId'] !== 'string' || typeof given['toolName'] !== 'string') return 'has no toolCallId or no toolName'
      return isToolOutput(given['output']) ? undefined : 'has no output'
    default:
      return 'has a role other than user, assistant and tool-result'
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

/** The fields of each part type that must be texts. */
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

/** Returns the calls of an answer that are ours to run, in order. Calls that the provider executes are left out. */
export function clientCalls(answer: AssistantMessage): readonly ToolCallPart[] {
  return answer.content.filter((part): part is ToolCallPart => part.type === 'tool-call' && !part.providerExecuted)
}

/** Returns whether an answer failed, was stopped or was cut off: then none of its calls has run. */
export function neverRan({ stopReason }: AssistantMessage): boolean {
  return stopReason !== 'stop' && stopReason !== 'tool-calls'
}

/** Returns the joined text parts of an answer; empty for other messages. */
export function textOf(message: Message | undefined): string {
  if (message?.role !== 'assistant') return ''
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** The structured output of a turn, and how many of its answers did not fit the schema. */
export interface FoundOutput {
  readonly output: JSONValue | undefined
  /** Number of answers that did not fit. */
  readonly failures: number
}

/**
 * Finds the structured output in the latest messages, back to the last input that is not a repair. `output` is undefined if there
 * is none. Throws `invalid-input` unless it gets a list of messages.
 */
export function lookForOutput(messages: readonly Message[]): FoundOutput {
  checkInput.checkItems('messages', needed(messages), (path, message) => {
    checkInput.checkRequired(
      path,
      message,
      'a message: an object with role',
      (given) => isRecord(given) && typeof given['role'] === 'string',
    )
  })
  return findOutput(messages)
}

/** As `lookForOutput`, for messages that are known to be valid. */
export function findOutput(messages: readonly Message[]): FoundOutput {
  let failures = 0
  for (const message of messages.toReversed()) {
    if (message.role === 'user') {
      if ('repairsOutput' in message) continue
      break
    }
    const output = outputOf(message)
    if (output !== undefined) return { output, failures }
    if (hasFailed(message)) failures++
  }
  return { output: undefined, failures }
}

function outputOf(message: Exclude<Message, { role: 'user' }>): JSONValue | undefined {
  if (message.role === 'assistant') return message.output
  if (message.toolName !== outputToolName || !('status' in message) || message.status !== 'result' || !('details' in message))
    return undefined
  return isRecord(message.details) ? (message.details['output'] as JSONValue) : undefined
}

function hasFailed(message: Exclude<Message, { role: 'user' }>): boolean {
  if (message.role === 'tool-result') return message.toolName === outputToolName
  return (message.stopReason === 'stop' || message.stopReason === 'length') && !message.paused && clientCalls(message).length === 0
}
