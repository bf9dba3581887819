import type { ContentPart, UserMessage } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { checkInput, refuseInput } from '../base/check-input.ts'
import { copyJson, deepFreeze, isRecord, NotJsonError } from '../base/json.ts'
import type { AgentInput, ApprovalDecision, SubmittedResult } from '../contract/input.ts'
import { answersOf, decisionOf } from './answers.ts'

/** What a run was asked to do, as a frozen copy. */
export type Order =
  | { readonly kind: 'message'; readonly message: UserMessage }
  | { readonly kind: 'answers'; readonly results: readonly SubmittedResult[]; readonly approvals: readonly ApprovalDecision[] }
  | { readonly kind: 'resume' }

/** Throws `invalid-input`. `path` is where the input was given. */
export function orderOf(input: AgentInput | undefined, path = 'input'): Order {
  if (input === undefined) return { kind: 'resume' }
  const given = copied(path, input)
  if (isRecord(given) && ('toolResults' in given || 'approvals' in given)) {
    return deepFreeze({ kind: 'answers', ...answersOf(given) })
  }
  return deepFreeze({ kind: 'message', message: messageOfInput(path, given) })
}

/** An input that must be a message. Throws `invalid-input`, also for answers. */
export function userMessageFor(input: AgentInput): UserMessage {
  const order = orderOf(input)
  return order.kind === 'message' ? order.message : refuseInput('answers can only be given to a suspended turn')
}

/** One decision, as a frozen copy. Throws `invalid-input`. */
export function decisionFrom(path: string, given: unknown): ApprovalDecision {
  return deepFreeze(decisionOf(path, copied(path, given)))
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

/** Fields that others have added are kept. */
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
  for (const [index, item] of (text as readonly unknown[]).entries()) checkInput.checkRequired(`${path}[${index}]`, item, 'a text', (one) => typeof one === 'string')
  return said(path, (text as readonly string[]).map((item) => ({ type: 'text', text: item })))
}

/** Refuses content that says nothing: the model would be called for it, and no provider is sent it. */
function said(path: string, content: UserMessage['content']): UserMessage['content'] {
  checkInput.checkRequired(path, content, 'a text that is not blank, or parts with one or a file', () => {
    return typeof content === 'string' ? isSaid(content) : content.some((part) => part.type === 'file' || isSaid(part.text))
  })
  return content
}

function isSaid(text: string): boolean {
  return /\S/.test(text)
}

/** Each text becomes a part. Undefined when there is anything but texts. */
function textsOf(given: readonly unknown[]): readonly ContentPart[] | undefined {
  if (given.length === 0 || !given.every((item) => typeof item === 'string')) return undefined
  return given.map((text) => ({ type: 'text', text }))
}

function partsOf(path: string, given: readonly unknown[]): readonly ContentPart[] {
  checkInput.checkRequired(path, given, 'a list of at least one part', () => given.length > 0)
  for (const [index, part] of given.entries()) checkInput.checkContentPart(`${path}[${index}]`, part)
  return given as readonly ContentPart[]
}
