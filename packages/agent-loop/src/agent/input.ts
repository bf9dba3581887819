import type { ContentPart, UserMessage } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import { isContentPart, isOptions } from '../content-part.ts'
import { copyJson, deepFreeze, isRecord } from '../json.ts'
import { answersOf } from './answers.ts'
import type { AgentInput, ApprovalDecision, SubmittedResult } from './options.ts'
import { refuseInput } from './refuse-input.ts'

/** What a run was asked to do, as a frozen copy. */
export type Order =
  | { readonly kind: 'message'; readonly message: UserMessage }
  | { readonly kind: 'answers'; readonly results: readonly SubmittedResult[]; readonly approvals: readonly ApprovalDecision[] }
  | { readonly kind: 'resume' }

/** Throws `invalid-input`. */
export function orderOf(input: AgentInput | undefined): Order {
  if (input === undefined) return { kind: 'resume' }
  const given = copied(input)
  if (isRecord(given) && ('toolResults' in given || 'approvals' in given)) {
    return deepFreeze({ kind: 'answers', ...answersOf(given) })
  }
  return deepFreeze({ kind: 'message', message: messageOfInput(given) })
}

/** An input that must be a message. Throws `invalid-input`, also for answers. */
export function userMessageFor(input: AgentInput): UserMessage {
  const order = orderOf(input)
  return order.kind === 'message' ? order.message : refuseInput('answers can only be given to a suspended turn')
}

function copied(input: unknown): unknown {
  try {
    return copyJson(input)
  } catch (error) {
    return refuseInput(messageOf(error))
  }
}

function messageOfInput(given: unknown): UserMessage {
  if (typeof given === 'string') return { role: 'user', content: given }
  if (Array.isArray(given)) return { role: 'user', content: textsOf(given) ?? partsOf(given) }
  if (!isRecord(given)) return refuseInput('an input must be a text, texts, content parts, a user message or answers')
  if (given['role'] === 'user') return userMessageOf(given)
  switch (given['type']) {
    case 'user-text':
      return { role: 'user', content: textsOfForm(only(given, 'text')) }
    case 'user-message':
      return { role: 'user', content: contentOf(only(given, 'content')) }
    default:
      return refuseInput('a message given as input must have the role user')
  }
}

/** The one field of a form besides its type. */
function only(given: Record<string, unknown>, field: string): unknown {
  const unknown = Object.keys(given).find((key) => key !== 'type' && key !== field)
  return unknown === undefined ? given[field] : refuseInput(`an input of this type has no field "${unknown}"`)
}

/** Fields that others have added are kept. */
function userMessageOf(given: Record<string, unknown>): UserMessage {
  const { content, id, at, providerOptions } = given
  if (id !== undefined && (typeof id !== 'string' || id === '')) refuseInput('the id of a message must be a text')
  if (at !== undefined && typeof at !== 'number') refuseInput('the time of a message must be a number')
  if (!isOptions(providerOptions)) refuseInput('the providerOptions of a message must be objects by provider')
  return { ...(given as { role: 'user' }), content: contentOf(content) }
}

function contentOf(content: unknown): UserMessage['content'] {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? partsOf(content) : refuseInput('the content of a message must be a text or parts')
}

function textsOfForm(text: unknown): UserMessage['content'] {
  if (typeof text === 'string') return text
  return (Array.isArray(text) && textsOf(text)) || refuseInput('text must be a text or texts')
}

/** Each text becomes a part. Undefined when there is anything but texts. */
function textsOf(given: readonly unknown[]): readonly ContentPart[] | undefined {
  if (given.length === 0 || !given.every((item) => typeof item === 'string')) return undefined
  return given.map((text) => ({ type: 'text', text }))
}

function partsOf(given: readonly unknown[]): readonly ContentPart[] {
  if (given.length === 0) return refuseInput('an input needs at least one part')
  return given.map((item, index) => (isContentPart(item) ? item : refuseInput(`part ${index} of the input is no text or file part`)))
}
