import { statuses } from '@bowline/agent-loop/events'
import { isFields, type ArgumentCheck, type FieldChecks } from '@bowline/llm/arguments'
import { inputChecks, isHeader, isHeaders, json, jsonObject, listOf } from './arguments.ts'
import type {
  ApproveOptions,
  AttachOptions,
  CallOptions,
  InputOptions,
  OverlayOptions,
  PageOptions,
  SendOptions,
  SessionQuery,
} from './client-session.ts'
import { toolsCheck } from './client-tool.ts'
import { checkMessage, content } from './common-checks.ts'
import type { RuntimeParams, ToolDeclaration } from './wire.ts'
import type { ForkRequest, SwitchRequest } from './wire-sessions.ts'

const { checkBoolean, checkFields, checkFunction, checkName, checkObject, checkRequired, checkSignal, checkText } = inputChecks
const { number, oneOf, optional, optionalName, optionalRecord, record, required, whole } = inputChecks

/** Checks the last argument of a call. */
const options =
  <Fields extends CallOptions>(checks: FieldChecks<Omit<Fields, keyof CallOptions>>) =>
  (value: unknown): void =>
    checkFields('options', value, { abortSignal: checkSignal, ...checks })

const page = { limit: whole(1), before: optionalName }
const header = optional((path, value) => {
  checkRequired(path, value, 'a text with at least one character, valid in a header', (given) => given !== '' && isHeader(given))
})

export const checkCallOptions = options({})
export const checkPageOptions = options<CallOptions & PageOptions>(page)
export const checkInputOptions = options<InputOptions>({ id: optionalName })
export const checkOverlayOptions = options<OverlayOptions>({ id: optionalName, turns: whole(1) })
export const checkSessionQuery = options<CallOptions & SessionQuery>({
  agent: optionalName,
  parent: optionalName,
  limit: whole(1),
  cursor: optionalName,
  status: oneOf(...statuses),
  expired: checkBoolean,
})
export const checkStopOptions = options<CallOptions & { runId?: string; mode?: string; scope?: string; waitMs?: number }>({
  runId: optionalName,
  mode: oneOf('stop', 'kill'),
  scope: oneOf('active', 'all'),
  waitMs: whole(0),
})
const decision = { inputHash: optionalName, reason: checkText }
export const checkApproveOptions = options<ApproveOptions>({ ...decision, input: json })
export const checkDenyOptions = options<Omit<ApproveOptions, 'input'>>(decision)
export const checkForkOptions = options<CallOptions & ForkRequest>({ entryId: optionalName, newSessionId: optionalName })
export const checkBranchesOptions = options<CallOptions & { limit?: number; cursor?: string }>({ limit: whole(1), cursor: optionalName })
export const checkCompactOptions = options<CallOptions & { instructions?: string }>({ instructions: checkText })
export const checkSwitchOptions = options<CallOptions & Omit<SwitchRequest, 'entryId'>>({
  summarize: checkBoolean,
  instructions: checkText,
})
export const checkExportOptions = options<CallOptions & { events?: boolean; allBranches?: boolean }>({
  events: checkBoolean,
  allBranches: checkBoolean,
})
export const checkAttachOptions = options<AttachOptions>({
  cursor: optionalName,
  from: oneOf('run', 'start', 'now'),
  until: oneOf('settled'),
  onConnection: checkFunction,
})

export const checkTools = toolsCheck(inputChecks)

const shortMessage = record<{ role: string; content: unknown }>({ role: required(oneOf('user', 'assistant')), content })
/** Checks a message. The server checks stored messages. */
const message: ArgumentCheck = (path, value) => (isFields(value) && 'id' in value ? jsonObject : shortMessage)(path, value)

const schema = required((path, value) => {
  jsonObject(path, value)
  const { type = 'object' } = value as { readonly type?: unknown }
  checkRequired(`${path}.type`, type, 'object', () => [type].flat().includes('object'))
})
/** Checks a tool as it is sent. */
const declaration: ArgumentCheck = (path, given) => {
  const tool: unknown = (Object(given) as { toJSON?(): unknown }).toJSON?.() ?? given
  const schemaKey = (Object(tool) as { readonly parameters?: unknown }).parameters ? 'parameters' : 'inputSchema'
  record<Omit<ToolDeclaration, 'inputSchema'>>({
    name: checkName,
    description: required(checkText),
    label: checkText,
    effect: checkText,
    [schemaKey]: schema,
  })(path, tool)
}
const runtimeParams: FieldChecks<RuntimeParams> = {
  model: optionalName,
  systemPrompt: checkText,
  stopSequences: listOf(checkText),
  providerSpecific: jsonObject,
  temperature: number(0),
  topP: number(0),
  maxTokens: whole(1),
  topK: whole(1),
  seed: whole(Number.MIN_SAFE_INTEGER),
  reasoning: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
}

export const hookSendChecks: FieldChecks<Omit<SendOptions, 'tools' | 'abortSignal'>> = {
  agent: optionalName,
  metadata: jsonObject,
  output: jsonObject,
  history: listOf(message),
  declarations: listOf(declaration),
  model: optionalName,
  runtimeParams: optionalRecord(runtimeParams),
  onBusy: oneOf('queue', 'steer', 'interrupt', 'reject'),
  id: header,
  headers: (path, value) => {
    checkObject(path, value)
    if (value !== undefined) checkRequired(path, value, 'names and values of headers', isHeaders)
  },
}
export const checkSendOptions = options<SendOptions>({ ...hookSendChecks, tools: checkTools })

export function checkSendInput(input: unknown): void {
  if (Array.isArray(input)) checkResultList('input', input)
  else checkMessage(input, ', or a list of tool results')
}

const isTrue = oneOf(true)
const texts = listOf(checkText)
/** Fields of a pending call. A caller may send them along with the answer. */
const ofPendingCall = {
  toolName: optionalName,
  path: texts,
  input: json,
  deadlineAt: number(0),
  agent: texts,
  background: texts,
  unknown: isTrue,
}
const output = { output: json, details: json, isError: checkBoolean, error: checkText }
const result = record({ ...ofPendingCall, ...output, toolCallId: checkName, role: oneOf('tool-result') })
const resolution = record({ ...ofPendingCall, ...output, toolCallId: optionalName, result: json, runAgain: isTrue })

export function checkResults(results: unknown): void {
  checkResultList('results', results)
}

function checkResultList(path: string, results: unknown): void {
  checkRequired(path, results, 'a list with at least one tool result', (given) => Array.isArray(given) && given.length > 0)
  listOf((place, one) => {
    result(place, one)
    requireAnswer(place, one, ['output', 'error', 'unknown'])
  })(path, results)
}

export function checkResolution(given: unknown): void {
  resolution('resolution', given)
  requireAnswer('resolution', given, ['output', 'result', 'error', 'runAgain', 'unknown'])
}

function requireAnswer(path: string, value: unknown, answers: readonly string[]): void {
  const holdsAnswer = (given: unknown): boolean => isFields(given) && answers.some((name) => given[name] !== undefined)
  checkRequired(path, value, `an object with ${answers.join(' or ')}`, holdsAnswer)
}
