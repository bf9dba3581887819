import { runtimeParamsSchema } from '@bowline/llm'
import type { JSONValue, Message, RuntimeParams, ToolChoice, ToolOutput, UserMessage } from '@bowline/llm'
import { fieldsOf, fieldsOfAction, json, list, optional, refuse, text, texts, truth } from '../../base/fields.ts'
import { frozenJson, isRecord } from '../../base/json.ts'
import { isToolOutput } from '../../base/messages.ts'
import type { CallDecision, CompactionDecision, HookedResult, RequestPatch, ResultPatch } from '../../contract/extension.ts'
import type { AgentInput } from '../../contract/input.ts'
import type { OutcomeStatus } from '../../events/turn-events.ts'
import { outputOf } from '../../tools/output.ts'
import { userMessageFor } from '../../transcript/input.ts'

// Reads what hooks return, hook by hook. Each reader throws for a value that its hook may not return, and returns frozen copies.

type InputRead =
  | { readonly action: 'continue' }
  | { readonly action: 'transform'; readonly input: UserMessage }
  | { readonly action: 'handled'; readonly reply?: string }

const inputActions = { continue: [], transform: ['input'], handled: ['reply'] }
const callActions = {
  allow: [],
  modify: ['input'],
  'reject-and-continue': ['message'],
  synthesize: ['output', 'details'],
  error: ['message'],
}
const statuses = ['result', 'error', 'denied', 'cancelled', 'unknown'] satisfies OutcomeStatus[]
const contentRoles: readonly unknown[] = ['user', 'assistant'] satisfies Message['role'][]

export function readInputDecision(returned: unknown): InputRead {
  const fields = fieldsOfAction(returned, inputActions)
  if (fields?.action === 'transform') return { action: 'transform', input: messageFor(fields['input']) }
  if (fields?.action === 'handled') return { action: 'handled', ...optional('reply', text(fields, 'reply')) }
  return { action: 'continue' }
}

export function readAgentStart(returned: unknown): { readonly instructions?: string; readonly append: readonly UserMessage[] } {
  const fields = fieldsOf(returned, ['instructions', 'append']) ?? {}
  const append = list(fields, 'append')?.map(messageFor) ?? []
  return { append, ...optional('instructions', text(fields, 'instructions')) }
}

/** Copies messages that are not among the given ones, because their maker may still change them. */
export function readMessages(returned: unknown, given: readonly Message[]): readonly Message[] {
  const fields = fieldsOf(returned, ['messages'])
  if (!fields) return given
  const known = new Set<unknown>(given)
  const messages = list(fields, 'messages') ?? refuse('must have messages')
  return Object.freeze(messages.map((message) => (known.has(message) ? (message as Message) : copiedMessage(message))))
}

export function readRequestPatch(returned: unknown): RequestPatch {
  const fields = fieldsOf(returned, ['runtimeParams', 'activeTools', 'shownTools', 'toolChoice']) ?? {}
  return {
    ...optional('runtimeParams', runtimeParamsOf(fields['runtimeParams'])),
    ...optional('activeTools', texts(fields, 'activeTools')),
    ...optional('shownTools', texts(fields, 'shownTools')),
    ...optional('toolChoice', toolChoiceOf(fields['toolChoice'])),
  }
}

export function readCallDecision(returned: unknown): CallDecision {
  const fields = fieldsOfAction(returned, callActions)
  if (!fields) return { action: 'allow' }
  const { action } = fields
  switch (action) {
    case 'allow':
      return { action }
    case 'modify':
      return { action, input: json(fields, 'input') ?? refuse('must have an input') }
    case 'synthesize': {
      const output = json(fields, 'output') ?? refuse('must have an output')
      return { action, output, ...optional('details', json(fields, 'details')) }
    }
    case 'reject-and-continue':
    case 'error':
      return { action, message: text(fields, 'message') ?? refuse('must have a message') }
    default:
      return action satisfies never
  }
}

export function readResultPatch(returned: unknown): ResultPatch {
  const fields = fieldsOf(returned, ['status', 'output', 'details', 'isError', 'terminate']) ?? {}
  const status = statuses.find((each) => each === fields['status'])
  if (status !== fields['status']) return refuse(`must have a status of ${statuses.join(', ')}`)
  return {
    ...optional('status', status),
    ...optional('output', json(fields, 'output')),
    ...optional('details', json(fields, 'details')),
    ...optional('isError', truth(fields, 'isError')),
    ...optional('terminate', truth(fields, 'terminate')),
  }
}

export function readCompactionDecision(returned: unknown, messages: readonly Message[]): CompactionDecision | undefined {
  const fields = fieldsOf(returned, ['cancel', 'reason', 'compaction', 'instructions'])
  if (!fields) return undefined
  const forms = ['cancel', 'compaction', 'instructions'].filter((form) => fields[form] !== undefined)
  if (forms.length !== 1) return refuse('must have one of cancel, compaction and instructions')
  const reason = text(fields, 'reason')
  const instructions = text(fields, 'instructions')
  if (instructions !== undefined) return { instructions }
  if (fields['compaction'] !== undefined) return { compaction: replacementOf(fields['compaction'], messages) }
  return truth(fields, 'cancel') ? { cancel: true, ...optional('reason', reason) } : undefined
}

/** Checks the replacement: the kept part must begin with a message that was shown, and not between a call and its result. */
function replacementOf(given: unknown, messages: readonly Message[]): { readonly summary: string; readonly firstKeptMessageId: string } {
  const fields = fieldsOf(given, ['summary', 'firstKeptMessageId']) ?? {}
  const summary = text(fields, 'summary')
  const firstKeptMessageId = text(fields, 'firstKeptMessageId')
  if (!summary || !firstKeptMessageId) return refuse('must have a compaction with summary and firstKeptMessageId')
  const first = messages.find(({ id }) => id === firstKeptMessageId)
  if (!first || first.role === 'tool-result') return refuse(`cannot keep the messages from ${firstKeptMessageId} on`)
  return Object.freeze({ summary, firstKeptMessageId })
}

function messageFor(input: unknown): UserMessage {
  return userMessageFor((input ?? null) as AgentInput)
}

function copiedMessage(given: unknown): Message {
  const message = frozenJson(given)
  return isMessage(message) ? message : refuse('must have messages of a known form')
}

function isMessage(value: unknown): value is Message {
  if (!isRecord(value)) return false
  const { role, content, output, toolCallId, toolName } = value
  if (role === 'tool-result') return isTyped(output) && typeof toolCallId === 'string' && typeof toolName === 'string'
  if (!contentRoles.includes(role)) return false
  return (role === 'user' && typeof content === 'string') || (Array.isArray(content) && content.every(isTyped))
}

function isTyped(value: unknown): boolean {
  return isRecord(value) && typeof value['type'] === 'string'
}

function runtimeParamsOf(given: unknown): RuntimeParams | undefined {
  if (given === undefined) return undefined
  const { success, data, error } = runtimeParamsSchema.safeParse(given)
  if (success) return frozenJson(data) as RuntimeParams
  return refuse(`must have valid runtimeParams: ${error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')}`)
}

function toolChoiceOf(given: unknown): ToolChoice | undefined {
  if (given === undefined || given === 'auto' || given === 'none' || given === 'required') return given
  const toolName = isRecord(given) ? text(given, 'toolName') : undefined
  return toolName === undefined ? refuse('must have a toolChoice of auto, none, required or { toolName }') : Object.freeze({ toolName })
}

const outputKeys = ['type', 'value', 'reason']

/** Returns a result whose fields are replaced by those of the patch. */
export function patchResult(result: HookedResult, patch: ResultPatch): HookedResult {
  const status = patch.status ?? statusOf(result.status, patch.isError)
  const same = patch.output === undefined && status === result.status
  return Object.freeze({
    ...result,
    status,
    output: same ? result.output : outputFor(status, patch.output ?? rawOf(result.output)),
    ...(patch.details !== undefined && { details: patch.details }),
    ...(patch.terminate !== undefined && { terminate: patch.terminate }),
  })
}

/** `isError` chooses between the outcomes `result` and `error`. It does not turn a denied call into one that ran. */
function statusOf(status: OutcomeStatus, isError: boolean | undefined): OutcomeStatus {
  if (isError === undefined || (status !== 'result' && status !== 'error')) return status
  return isError ? 'error' : 'result'
}

/**
 * Returns the output for a status. Accepts a value in the form in which a result holds it, because a hook may return what it read.
 */
function outputFor(status: OutcomeStatus, given: JSONValue): ToolOutput {
  const raw = isWholeOutput(given) ? rawOf(given) : given
  if (status === 'denied' && typeof raw === 'string') return { type: 'execution-denied', reason: raw }
  return outputOf(raw, status !== 'result')
}

function rawOf(output: ToolOutput): JSONValue {
  switch (output.type) {
    case 'text':
    case 'error-text':
    case 'json':
    case 'error-json':
      return output.value
    case 'content':
      return output as unknown as JSONValue
    case 'execution-denied':
      return output.reason ?? 'denied'
    default:
      return output satisfies never
  }
}

/** Returns whether a value is a whole tool output. With other fields it is the extension's own JSON. */
function isWholeOutput(given: JSONValue): given is JSONValue & ToolOutput {
  return isToolOutput(given) && Object.keys(given).every((key) => outputKeys.includes(key))
}
