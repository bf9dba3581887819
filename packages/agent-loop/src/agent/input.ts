import type { ContentPart, UserMessage } from '@bowline/llm'
import { AgentError, messageOf } from '../agent-error.ts'
import { copyJson, deepFreeze } from '../json.ts'
import type { AgentInput, SubmittedResult } from './options.ts'

/** What a run was asked to do, copied. */
export type Order =
  | { readonly kind: 'message'; readonly message: UserMessage }
  | { readonly kind: 'answers'; readonly results: readonly SubmittedResult[] }
  | { readonly kind: 'resume' }

/** Throws `invalid-input`. */
export function orderOf(input: AgentInput | undefined): Order {
  if (input === undefined) return { kind: 'resume' }
  if (typeof input === 'string') return { kind: 'message', message: { role: 'user', content: input } }
  const copy = copied(input)
  if (Array.isArray(copy)) return { kind: 'message', message: { role: 'user', content: partsOf(copy) } }
  if (!isObject(copy)) return refuse('an input must be a text, texts, content parts, a user message or answers')
  if ('toolResults' in copy) return { kind: 'answers', results: resultsOf(copy) }
  if (copy['role'] !== 'user') return refuse('a message given as input must have the role user')
  return { kind: 'message', message: userMessageOf(copy) }
}

function copied(input: object): unknown {
  try {
    return deepFreeze(copyJson(input))
  } catch (error) {
    return refuse(messageOf(error))
  }
}

function userMessageOf(given: Record<string, unknown>): UserMessage {
  const { content, id, at, ...rest } = given
  if (id !== undefined && (typeof id !== 'string' || id === '')) refuse('the id of a message must be a text')
  if (at !== undefined && typeof at !== 'number') refuse('the time of a message must be a number')
  if (typeof content === 'string') return given as unknown as UserMessage
  if (!Array.isArray(content)) return refuse('the content of a message must be a text or parts')
  return {
    ...(rest as { role: 'user' }),
    ...(id !== undefined && { id: id }),
    ...(at !== undefined && { at: at }),
    content: partsOf(content),
  }
}

function partsOf(given: readonly unknown[]): readonly ContentPart[] {
  if (given.length === 0) return refuse('an input needs at least one part')
  if (given.every((item) => typeof item === 'string')) return given.map((text) => ({ type: 'text', text }))
  return given.map((item, index) => (isPart(item) ? item : refuse(`part ${index} of the input is no text or file part`)))
}

function isPart(value: unknown): value is ContentPart {
  if (!isObject(value)) return false
  if (value['type'] === 'text') return typeof value['text'] === 'string'
  if (value['type'] !== 'file' || typeof value['mediaType'] !== 'string') return false
  const data = value['data']
  if (!isObject(data)) return false
  if (data['type'] === 'data') return typeof data['data'] === 'string'
  return data['type'] === 'url' && typeof data['url'] === 'string'
}

function resultsOf(given: Record<string, unknown>): readonly SubmittedResult[] {
  const results = given['toolResults']
  if (Object.keys(given).length > 1) refuse('answers have no field but toolResults')
  if (!Array.isArray(results) || results.length === 0) return refuse('toolResults must be a list of results')
  return results.map((result, index) => (isResult(result) ? result : refuse(`toolResults[${index}] is no result`)))
}

function isResult(value: unknown): value is SubmittedResult {
  if (!isObject(value) || typeof value['toolCallId'] !== 'string') return false
  const forms = ['output', 'error', 'unknown'].filter((key) => key in value)
  if (forms.length !== 1) return false
  if ('error' in value) return typeof value['error'] === 'string'
  return 'output' in value || value['unknown'] === true
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refuse(message: string): never {
  throw new AgentError('invalid-input', message)
}
