import type { ContentPart, ImagePart, UserMessage } from '@bowline/llm'
import { fileOfImage, needed } from '@bowline/llm/arguments'
import { messageOf } from '../base/agent-error.ts'
import { checkInput, refuseInput } from '../base/checks.ts'
import { copyJson, deepFreeze, isRecord, NotJsonError } from '../base/json.ts'
import type { AgentInput, Answers, ApprovalDecision, SubmittedResult } from '../contract/input.ts'

/** Returns an input as a frozen copy in the form in which it is stored. Throws `AgentError` `invalid-input`. */
export function parseInput(input: AgentInput): UserMessage | Answers {
  const order = orderOf(input)
  switch (order.kind) {
    case 'message':
      return order.message
    case 'answers': {
      const { results, approvals } = order
      return Object.freeze({
        ...(results.length > 0 && { toolResults: results }),
        ...(approvals.length > 0 && { approvals }),
      })
    }
    case 'resume':
      return refuseInput('input must be given; received undefined')
    default:
      return order satisfies never
  }
}

/** The request to a run, as a frozen copy. */
export type Order =
  | { readonly kind: 'message'; readonly message: UserMessage }
  | { readonly kind: 'answers'; readonly results: readonly SubmittedResult[]; readonly approvals: readonly ApprovalDecision[] }
  | { readonly kind: 'resume' }

/** Reads an input. Throws `invalid-input`. `path` is where the input was given. */
export function orderOf(input: AgentInput | undefined, path = 'input'): Order {
  if (input === undefined) return { kind: 'resume' }
  const given = copied(path, input)
  if (isRecord(given) && ('toolResults' in given || 'approvals' in given)) {
    return deepFreeze({ kind: 'answers', ...answersOf(given) })
  }
  return deepFreeze({ kind: 'message', message: messageOfInput(path, given) })
}

/** Reads an input that must be a message. Throws `invalid-input`, also for answers. */
export function userMessageFor(input: AgentInput): UserMessage {
  const order = orderOf(input)
  return order.kind === 'message'
    ? order.message
    : refuseInput('input must be a message; toolResults and approvals are only for a turn that waits for them')
}

function copied(path: string, input: unknown): unknown {
  try {
    return copyJson(input)
  } catch (error) {
    if (error instanceof NotJsonError) return refuseInput(`${path}${pathText(error.keys)} must be a JSON value: ${error.message}`)
    return refuseInput(`${path}: ${messageOf(error)}`)
  }
}

function pathText(keys: readonly (string | number)[]): string {
  return keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('')
}

function messageOfInput(path: string, given: unknown): UserMessage {
  if (typeof given === 'string') return { role: 'user', content: said(path, given) }
  if (Array.isArray(given)) return { role: 'user', content: said(path, textsOf(given) ?? partsOf(path, given)) }
  checkInput.checkRequired(path, given, 'a text, texts, content parts, a user message or answers', isRecord)
  return messageOfForm(path, given as Record<string, unknown>)
}

function messageOfForm(path: string, given: Record<string, unknown>): UserMessage {
  if (given['role'] === 'user') return userMessageOf(path, given)
  switch (given['type']) {
    case 'user-text':
      checkInput.checkKeys(path, given, ['type', 'text'])
      return { role: 'user', content: textsOfForm(`${path}.text`, given['text']) }
    case 'user-message':
      checkInput.checkKeys(path, given, ['type', 'content'])
      return { role: 'user', content: contentOf(`${path}.content`, given['content']) }
    default:
      checkInput.checkOneOf(`${path}.type`, given['type'], ['user-text', 'user-message'])
      checkInput.checkRequired(`${path}.role`, given['role'], 'user', (role) => role === 'user')
      return refuseInput(`${path} must be a text, texts, content parts, a user message or answers`)
  }
}

/** Reads a user message. Unknown fields are kept. */
function userMessageOf(path: string, given: Record<string, unknown>): UserMessage {
  const { content, id, at, providerOptions } = given
  if (id !== undefined) checkInput.checkName(`${path}.id`, id)
  if (at !== undefined) checkInput.checkRequired(`${path}.at`, at, 'a number', (time) => typeof time === 'number')
  checkInput.checkObject(`${path}.providerOptions`, providerOptions)
  for (const [name, options] of Object.entries(providerOptions ?? {})) checkInput.checkObject(`${path}.providerOptions.${name}`, options)
  return { ...(given as { role: 'user' }), content: contentOf(`${path}.content`, content) }
}

function contentOf(path: string, content: unknown): UserMessage['content'] {
  if (typeof content === 'string') return said(path, content)
  checkInput.checkRequired(path, content, 'a text or content parts', Array.isArray)
  return said(path, partsOf(path, content as readonly unknown[]))
}

function textsOfForm(path: string, text: unknown): UserMessage['content'] {
  if (typeof text === 'string') return said(path, text)
  checkInput.checkRequired(path, text, 'a text or a list of texts', (given) => Array.isArray(given) && given.length > 0)
  for (const [index, item] of (text as readonly unknown[]).entries())
    checkInput.checkRequired(`${path}[${index}]`, item, 'a text', (one) => typeof one === 'string')
  return said(
    path,
    (text as readonly string[]).map((item) => ({ type: 'text', text: item })),
  )
}

/** Refuses content without text or file: the model would be called for it, but no provider gets it. */
function said(path: string, content: UserMessage['content']): UserMessage['content'] {
  checkInput.checkRequired(path, content, 'a text that is not blank, or parts with one or a file', () => {
    return typeof content === 'string' ? isSaid(content) : content.some((part) => part.type === 'file' || isSaid(part.text))
  })
  return content
}

function isSaid(text: string): boolean {
  return /\S/.test(text)
}

/** Makes a part of each text. Returns undefined if an item is not a text. */
function textsOf(given: readonly unknown[]): readonly ContentPart[] | undefined {
  if (given.length === 0 || !given.every((item) => typeof item === 'string')) return undefined
  return given.map((text) => ({ type: 'text', text }))
}

function partsOf(path: string, given: readonly unknown[]): readonly ContentPart[] {
  checkInput.checkRequired(path, given, 'a list of at least one part', () => given.length > 0)
  return given.map((part, index) => partOf(`${path}[${index}]`, part))
}

function partOf(path: string, given: unknown): ContentPart {
  const part = isRecord(given) && given['type'] === 'image' ? imageOf(path, given as unknown as ImagePart) : given
  checkInput.checkContentPart(path, part)
  return part as ContentPart
}

function imageOf(path: string, part: ImagePart): ContentPart | undefined {
  const file = fileOfImage(part)
  checkInput.checkRequired(
    `${path}.image`,
    part.image,
    'base64, a data: URL of an image in base64, or an http(s) address',
    () => file !== undefined,
  )
  return file
}

type Fields = Readonly<Record<string, unknown>>

/** Reads answers to a suspended turn: results, decisions or both. Throws `invalid-input`. */
function answersOf(given: Record<string, unknown>): {
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
/** The fields of a pending call, besides its id, path and `unknown`. */
const callFields = ['toolName', 'input', 'deadlineAt', 'agent', 'background'] as const
const besideOutput = ['details', 'isError'] as const

/** Reads a result, which has exactly one form. A pending call may be sent back with its answer. */
function resultOf(path: string, given: unknown): SubmittedResult {
  checkInput.checkKeys(path, given, ['toolCallId', 'path', ...forms, ...besideOutput, ...callFields])
  const fields = given as Fields
  checkInput.checkName(`${path}.toolCallId`, fields['toolCallId'])
  checkTexts(`${path}.path`, fields['path'])
  checkCall(path, fields)
  const form = formOf(path, fields)
  const stray = besideOutput.find((name) => form !== 'output' && fields[name] !== undefined)
  if (stray !== undefined) refuseInput(`${path}.${stray} is allowed only with output; received ${form}`)
  if (form === 'error') checkInput.checkRequired(`${path}.error`, fields['error'], 'a text', (value) => typeof value === 'string')
  checkInput.checkBoolean(`${path}.isError`, fields['isError'])
  const { unknown: _unknown, ...answer } = fields
  return (form === 'unknown' ? fields : answer) as unknown as SubmittedResult
}

/** Finds the form of a result. If other fields of a pending call are present, `unknown` is one of its fields and no answer. */
function formOf(path: string, fields: Fields): (typeof forms)[number] {
  checkInput.checkOneOf(`${path}.unknown`, fields['unknown'], [true])
  const isCall = callFields.some((name) => fields[name] !== undefined)
  const answered = forms.filter((name) => name in fields && name !== 'unknown')
  const [form, other] = answered.length === 0 && fields['unknown'] === true && !isCall ? (['unknown'] as const) : answered
  if (form !== undefined && other === undefined && (isCall || form === 'unknown' || fields['unknown'] === undefined)) return form
  const received = forms.filter((name) => name in fields).join(' and ') || 'none of them'
  return refuseInput(
    `${path} must have exactly one of ${forms.join(', ')}; received ${received}${isCall ? '; unknown is a field of the pending call, not an answer' : ''}`,
  )
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

/** Reads one decision into a frozen copy. Throws `invalid-input`. */
export function decisionFrom(path: string, given: unknown): ApprovalDecision {
  return deepFreeze(decisionOf(path, copied(path, given)))
}

function decisionOf(path: string, given: unknown): ApprovalDecision {
  checkInput.checkKeys(path, given, ['approvalId', 'decision', 'inputHash', 'reason', 'by', 'input'])
  const { approvalId, decision, inputHash, reason, by } = given as Fields
  checkInput.checkName(`${path}.approvalId`, approvalId)
  checkInput.checkOneOf(`${path}.decision`, needed(decision), ['approve', 'deny'])
  for (const [name, text] of Object.entries({ inputHash, reason, by })) checkInput.checkText(`${path}.${name}`, text)
  if (decision === 'deny' && isRecord(given) && 'input' in given) refuseInput(`${path}.input is allowed only with approve; received deny`)
  return given as ApprovalDecision
}
