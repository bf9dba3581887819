import type { AssistantMessage, JSONValue, Message, ToolResultMessage, UserMessage } from '@bowline/llm'
import { copyJson, isRecord } from '../base/json.ts'
import { isAssistantPart, isContentPart, isOutcomeStatus, isStopReason, isToolOutput } from '../base/messages.ts'

type Note = (code: TranscriptRepairCode) => void
type Fields = Record<string, JSONValue>

/** Returns a copy of an entry as a message of the right shape, as far as it can be read. Returns undefined if it is no message. */
export function readMessage(given: unknown, note: Note): Message | undefined {
  const fields = readFields(given, note)
  switch (fields['role']) {
    case 'user':
      return readUser(fields, given, note)
    case 'assistant':
      return readAnswer(fields, given, note)
    case 'tool-result':
      return readResult(fields, note)
    default:
      return undefined
  }
}

/** Returns the fields that are JSON; `content` is read part by part. */
function readFields(given: unknown, note: Note): Fields {
  const fields: Fields = {}
  if (!isRecord(given)) return fields
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || (key === 'content' && Array.isArray(value))) continue
    const copy = readJson(value)
    if (copy === undefined) note('field')
    else Object.defineProperty(fields, key, { value: copy, enumerable: true, configurable: true, writable: true })
  }
  return fields
}

function readJson(value: unknown): JSONValue | undefined {
  try {
    return copyJson(value)
  } catch {
    // The caller notes that it is left out.
    return undefined
  }
}

function readParts<Part>(given: unknown, isPart: (part: unknown) => part is Part, note: Note): readonly Part[] | undefined {
  if (!isRecord(given) || !Array.isArray(given['content'])) return undefined
  return Array.from(given['content'] as readonly unknown[]).flatMap((part) => {
    const copy = readJson(part)
    if (isPart(copy)) return [copy]
    note('dropped-part')
    return []
  })
}

function readUser(fields: Fields, given: unknown, note: Note): UserMessage | undefined {
  const content = readParts(given, isContentPart, note) ?? fields['content']
  if (typeof content !== 'string' && !Array.isArray(content)) return undefined
  return { ...withOptional(fields, { at: isNumber }, note), role: 'user', content }
}

function readAnswer(fields: Fields, given: unknown, note: Note): AssistantMessage | undefined {
  const parts = readParts(given, isAssistantPart, note)
  const text = fields['content']
  if (!parts && typeof text !== 'string') return undefined
  if (!parts) note('field')
  const content = (parts ?? [{ type: 'text', text: text as string }]).map((part) => withoutRawText(part, note))
  const hasCalls = content.some((part) => part.type === 'tool-call' && !part.providerExecuted)
  const needed = {
    provider: fieldOr(fields['provider'], isText, 'unknown', note),
    modelId: fieldOr(fields['modelId'], isText, 'unknown', note),
    stopReason: fieldOr(fields['stopReason'], isStopReason, hasCalls ? 'tool-calls' : 'stop', note),
    usage: fieldOr(fields['usage'], isRecord, {}, note),
    at: fieldOr(fields['at'], isNumber, 0, note),
    timing: fieldOr(fields['timing'], isRecord, { totalMs: 0 }, note),
  }
  return { ...fields, role: 'assistant', content, ...needed } as unknown as AssistantMessage
}

/** Removes raw argument text if the mark is missing that says why it is there. */
function withoutRawText<Part extends { readonly type: string }>(part: Part, note: Note): Part {
  if (part.type !== 'tool-call' || !('inputText' in part) || ('invalid' in part && part.invalid)) return part
  const { inputText: _inputText, ...rest } = part
  note('field')
  return rest as unknown as Part
}

function readResult(fields: Fields, note: Note): ToolResultMessage | undefined {
  const { toolCallId, toolName, output } = fields
  if (typeof toolCallId !== 'string' || !isToolOutput(output)) return undefined
  const rest = withOptional(fields, { at: isNumber, status: isOutcomeStatus, index: isNumber }, note)
  return { ...rest, role: 'tool-result', toolCallId, toolName: isText(toolName) ? toolName : '', output }
}

/** Returns the fields without optional ones that are wrong. */
function withOptional(fields: Fields, checks: Readonly<Record<string, (value: unknown) => boolean>>, note: Note): Fields {
  const wrong = Object.entries(checks).filter(([key, isRight]) => key in fields && !isRight(fields[key]))
  for (const _field of wrong) note('field')
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !wrong.some(([other]) => other === key)))
}

function fieldOr<T>(value: unknown, isRight: (value: unknown) => value is T, otherwise: T, note: Note): T {
  if (isRight(value)) return value
  note('field')
  return otherwise
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

/**
 * Says what was changed. `message-id`, `call-id`: an id was missing, empty or used before. `tool-name`: a result named another tool
 * than its call. `status`: a call that cannot have run had a result. `field`: a field was missing, of the wrong kind or not JSON.
 */
export type TranscriptRepairCode =
  | 'message-id'
  | 'call-id'
  | 'missing-result'
  | 'orphan-result'
  | 'duplicate-result'
  | 'moved-result'
  | 'tool-name'
  | 'status'
  | 'field'
  | 'dropped-part'
  | 'dropped-message'
