import { needed } from '@bowline/llm/arguments'
import { checkInput, refuseInput } from '../base/check-input.ts'
import { isRecord } from '../base/json.ts'
import type { ApprovalDecision, SubmittedResult } from '../contract/input.ts'

type Fields = Readonly<Record<string, unknown>>

/** Answers to a suspended turn: results, decisions or both. Throws `invalid-input`. */
export function answersOf(given: Record<string, unknown>): {
  readonly results: readonly SubmittedResult[]
  readonly approvals: readonly ApprovalDecision[]
} {
  checkInput.checkKeys('input', given, ['toolResults', 'approvals'])
  const results = listOf('toolResults', given['toolResults'], resultOf)
  const approvals = listOf('approvals', given['approvals'], decisionOf)
  if (results.length + approvals.length === 0) refuseInput('input must have at least one of toolResults or approvals; received none')
  return { results, approvals }
}

function listOf<Entry>(path: string, given: unknown, read: (path: string, entry: unknown) => Entry): readonly Entry[] {
  checkInput.checkList(path, given)
  return ((given ?? []) as readonly unknown[]).map((entry, index) => read(`${path}[${index}]`, entry))
}

const forms = ['output', 'error', 'unknown'] as const
/** The fields of a pending call, beside its id, path and `unknown`. */
const callFields = ['toolName', 'input', 'deadlineAt', 'agent', 'background'] as const
const besideOutput = ['details', 'isError'] as const

/** In exactly one form. A pending call may be handed back with its answer. */
function resultOf(path: string, given: unknown): SubmittedResult {
  checkInput.checkKeys(path, given, ['toolCallId', 'path', ...forms, ...besideOutput, ...callFields])
  const fields = given as Fields
  checkInput.checkName(`${path}.toolCallId`, fields['toolCallId'])
  checkTexts(`${path}.path`, fields['path'])
  checkCall(path, fields)
  const form = formOf(path, fields)
  const stray = besideOutput.find((name) => form !== 'output' && fields[name] !== undefined)
  if (stray !== undefined) refuseInput(`${path}.${stray} belongs to an output; received ${form}`)
  if (form === 'error') checkInput.checkRequired(`${path}.error`, fields['error'], 'a text', (value) => typeof value === 'string')
  checkInput.checkBoolean(`${path}.isError`, fields['isError'])
  const { unknown: _unknown, ...answer } = fields
  return (form === 'unknown' ? fields : answer) as unknown as SubmittedResult
}

/** A pending call says `unknown` of itself: beside its other fields that answers nothing. */
function formOf(path: string, fields: Fields): (typeof forms)[number] {
  checkInput.checkOneOf(`${path}.unknown`, fields['unknown'], [true])
  const isCall = callFields.some((name) => fields[name] !== undefined)
  const answered = forms.filter((name) => name in fields && name !== 'unknown')
  const [form, other] = answered.length === 0 && fields['unknown'] === true && !isCall ? (['unknown'] as const) : answered
  if (form !== undefined && other === undefined && (isCall || form === 'unknown' || fields['unknown'] === undefined)) return form
  const received = forms.filter((name) => name in fields).join(' and ') || 'none of them'
  return refuseInput(`${path} must have exactly one of ${forms.join(', ')}; received ${received}${isCall ? ', which a pending call says of itself' : ''}`)
}

function checkCall(path: string, { toolName, deadlineAt, agent, background }: Fields): void {
  checkInput.checkText(`${path}.toolName`, toolName)
  checkInput.checkNumber(`${path}.deadlineAt`, deadlineAt, 0)
  checkTexts(`${path}.agent`, agent)
  checkTexts(`${path}.background`, background)
}

function checkTexts(path: string, given: unknown): void {
  checkInput.checkList(path, given)
  for (const [index, text] of ((given ?? []) as readonly unknown[]).entries()) checkInput.checkName(`${path}[${index}]`, text)
}

export function decisionOf(path: string, given: unknown): ApprovalDecision {
  checkInput.checkKeys(path, given, ['approvalId', 'decision', 'inputHash', 'reason', 'by', 'input'])
  const { approvalId, decision, inputHash, reason, by } = given as Fields
  checkInput.checkName(`${path}.approvalId`, approvalId)
  checkInput.checkOneOf(`${path}.decision`, needed(decision), ['approve', 'deny'])
  for (const [name, text] of Object.entries({ inputHash, reason, by })) checkInput.checkText(`${path}.${name}`, text)
  if (decision === 'deny' && isRecord(given) && 'input' in given) refuseInput(`${path}.input belongs to an approval; received deny`)
  return given as ApprovalDecision
}
