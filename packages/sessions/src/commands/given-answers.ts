import { AgentError, hashJson, parseInput, type PendingToolCall, type SubmittedResult } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import { inputChecks, sentence } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { ToolCallRecord } from '../contract/records.ts'
import { checkedCopy } from '../json.ts'
import type { ToolResolution } from './types.ts'

/** An answer to a call, with the fields of the call that the caller gave too. */
export interface GivenAnswer {
  readonly result: SubmittedResult
  /** Must match the pending call. */
  readonly said: SaidOfCall
  /** Path of the answer in the arguments, for errors. */
  readonly place: string
}

export type SaidOfCall = Partial<Pick<PendingToolCall, 'toolName' | 'input' | 'deadlineAt' | 'agent'>>

/** `runAgain` is no answer: the call starts again. */
export type GivenResolution =
  | { readonly runAgain: true; readonly said: SaidOfCall; readonly path: readonly string[]; readonly place: string }
  | GivenAnswer

const callFields = ['toolName', 'input', 'deadlineAt', 'agent', 'background'] as const
const resultForms = ['output', 'error', 'unknown'] as const
const resolutionForms = ['result', 'output', 'error', 'runAgain', 'unknown'] as const
const besideOutput = ['details', 'isError'] as const

type Fields = Readonly<Record<string, unknown>>

/** Checks and copies results before anything is awaited: later changes by the caller have no effect. Throws `invalid-input`. */
export function parseResults(given: readonly SubmittedResult[]): readonly GivenAnswer[] {
  const place = 'results'
  inputChecks.checkRequired(place, given, 'a list with at least one result', (value) => Array.isArray(value) && value.length > 0)
  return checkedCopy(given, place).map((each, index) => {
    const at = `${place}[${index}]`
    const form = formOf(at, each, [...resultForms])
    const { toolCallId, role } = each as Fields
    inputChecks.checkName(`${at}.toolCallId`, toolCallId)
    inputChecks.checkOneOf(`${at}.role`, role, ['tool-result'])
    return answerOf(at, each, form)
  })
}

/** Like `parseResults`, for the resolution of one call. `path` comes from the options. */
export function parseResolution(toolCallId: string, given: ToolResolution, path: readonly string[] | undefined): GivenResolution {
  const place = 'resolution'
  inputChecks.checkName('toolCallId', toolCallId)
  const form = formOf(place, given, [...resolutionForms])
  const fields: Fields = { ...checkedCopy(given as Fields, place) }
  const own = { ...fields, toolCallId, ...(path && { path: [...path] }) }
  for (const name of ['toolCallId', 'path'] as const) {
    if (fields[name] !== undefined) checkSame(`${place}.${name}`, fields[name], own[name])
  }
  if (form !== 'runAgain') return answerOf(place, own, form)
  inputChecks.checkRequired(`${place}.runAgain`, fields['runAgain'], 'true', (value) => value === true)
  return { runAgain: true, said: saidOf(place, own), path: pathOf(place, own), place }
}

/** Returns the form of the answer. Throws unless there is exactly one and no unknown key. */
function formOf<Form extends string>(place: string, given: unknown, forms: readonly Form[]): Form {
  inputChecks.checkKeys(place, given, [...forms, ...besideOutput, 'toolCallId', 'path', 'role', ...callFields])
  const fields = given as Fields
  // A pending call has a field `unknown` of its own. With other fields of the call, it is no answer.
  const isCall = callFields.some((name) => fields[name] !== undefined)
  const found = forms.filter((form) => fields[form] !== undefined && !(isCall && form === 'unknown'))
  const [form] = found
  if (form === undefined || found.length > 1) {
    const received = found.length === 0 ? 'none of them' : found.join(' and ')
    throw new SessionError('invalid-input', `${place} must have exactly one of ${forms.join(', ')}; received ${received}.`)
  }
  const stray = besideOutput.find((name) => form !== 'output' && fields[name] !== undefined)
  if (stray !== undefined) throw new SessionError('invalid-input', `${place}.${stray} is allowed only with output.`)
  return form
}

/** Returns the answer in the form of the loop, which parses it again. */
function answerOf(place: string, fields: Fields, form: (typeof resolutionForms)[number]): GivenAnswer {
  const { toolCallId } = fields
  const path = pathOf(place, fields)
  const result = { toolCallId, ...(path.length > 0 && { path }), ...answer(place, fields, form) } as unknown as SubmittedResult
  try {
    parseInput({ toolResults: [result] })
  } catch (error) {
    if (!AgentError.isInstance(error)) throw error
    throw new SessionError('invalid-input', sentence(`${place}: ${error.message}`))
  }
  return { result, said: saidOf(place, fields), place }
}

function answer(place: string, fields: Fields, form: (typeof resolutionForms)[number]): Fields {
  const { result, output, error, details, isError } = fields
  switch (form) {
    case 'result':
      return { output: result }
    case 'output':
      inputChecks.checkBoolean(`${place}.isError`, isError)
      return { output, ...(details !== undefined && { details }), ...(isError !== undefined && { isError }) }
    case 'error':
      inputChecks.checkText(`${place}.error`, error)
      return { error }
    case 'unknown':
    case 'runAgain':
      inputChecks.checkRequired(`${place}.${form}`, fields[form], 'true', (value) => value === true)
      return { [form]: true }
    default: {
      const never: never = form
      return never
    }
  }
}

function pathOf(place: string, { path }: Fields): readonly string[] {
  names(`${place}.path`, path)
  return (path ?? []) as readonly string[]
}

const names = inputChecks.listOf(inputChecks.checkName)

function saidOf(place: string, { toolName, input, deadlineAt, agent, background }: Fields): SaidOfCall {
  inputChecks.optionalName(`${place}.toolName`, toolName)
  inputChecks.checkNumber(`${place}.deadlineAt`, deadlineAt, 0)
  names(`${place}.agent`, agent)
  names(`${place}.background`, background)
  const said = { toolName, input, deadlineAt, agent }
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
}

/** The stored call that an answer belongs to. */
interface AnsweredCall {
  readonly call: ToolCallRecord
  /** Set while the call waits. */
  readonly pending: PendingToolCall | undefined
  /** Names of the agents from the addressed session down to the one of the call. */
  readonly agents: readonly string[]
}

/** Throws `invalid-input` if the answer was meant for another call than its id names. */
export function checkAgrees({ said, place }: Pick<GivenAnswer, 'said' | 'place'>, { call, pending, agents }: AnsweredCall): void {
  checkSame(`${place}.toolName`, said.toolName, call.name)
  checkSame(`${place}.agent`, said.agent, agents)
  if (pending) checkSame(`${place}.deadlineAt`, said.deadlineAt, pending.deadlineAt)
  const inputs = [call.inputHash, ...(pending ? [hashJson(pending.input)] : [])]
  if (said.input !== undefined && !inputs.includes(hashJson(said.input))) throw another(`${place}.input`)
}

function checkSame(path: string, said: unknown, stored: unknown): void {
  if (said !== undefined && hashJson(said as JSONValue) !== hashJson((stored ?? null) as JSONValue)) throw another(path)
}

function another(path: string): SessionError {
  const message = 'differs from that of the pending call: check the toolCallId.'
  return new SessionError('invalid-input', `${path} ${message}`, { issues: [{ path, message }] })
}
