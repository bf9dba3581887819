import { z } from '@hono/zod-openapi'
import type { JsonObject, UserMessageInput } from '@bowline/client'
import type { ProblemError } from '../problems.ts'
import { faulty } from '../problems.ts'
import { validate } from '../http/validate.ts'
import { sessionIdForm } from '../session-keys.ts'
import { fileOf } from '../execute/user-message.ts'
import { imageFields } from '../wire/fields.ts'
import { optional } from '../wire/optional.ts'

const maxIdCharacters = 256

const messageId = z.string().min(1).max(maxIdCharacters)

/** Request of the AI SDK transport. It always holds the whole history; only the last message is used. */
export const chatRequest = z
  .strictObject({
    id: z.string().regex(sessionIdForm),
    messages: z.array(
      z
        .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'A message is needed.')
        .openapi({ type: 'object', additionalProperties: true }),
    ),
    trigger: z.enum(['submit-message', 'regenerate-message']),
    messageId: optional(messageId),
  })
  .openapi('ChatRequest')

export type ChatRequest = z.infer<typeof chatRequest>

const textPart = z.looseObject({ type: z.literal('text'), text: z.string() })
const filePart = z.looseObject({
  type: z.literal('file'),
  mediaType: z.string().min(1).max(maxIdCharacters),
  url: z.string(),
  filename: optional(z.string().max(maxIdCharacters)),
})
const imagePart = z.looseObject(imageFields)
const toolPart = z.looseObject({
  toolCallId: z.string(),
  state: z.string(),
  output: optional(z.unknown()),
  errorText: optional(z.string()),
  preliminary: optional(z.boolean()),
  approval: optional(z.looseObject({ id: z.string(), approved: optional(z.boolean()), reason: optional(z.string()) })),
})

const lastMessage = z.looseObject({
  id: messageId,
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(z.looseObject({ type: z.string() })),
})

type Part = z.infer<typeof lastMessage>['parts'][number]
type InputPart = Exclude<UserMessageInput['content'], string>[number]

/** Last message of a request: user input, or answers to questions of the assistant. */
export type ChatMessage = UserInput | Answers

export interface UserInput {
  readonly role: 'user'
  readonly id: string
  readonly input: UserMessageInput
}

export interface Answers {
  readonly role: 'assistant'
  readonly id: string
  readonly results: readonly AnsweredCall[]
  readonly decisions: readonly Decision[]
}

export type AnsweredCall = { readonly toolCallId: string } & ({ readonly output: unknown } | { readonly error: string })

export interface Decision {
  readonly approvalId: string
  readonly approved: boolean
  readonly reason?: string
}

/** Returns undefined if there is no message. */
export function lastMessageOf({ messages }: ChatRequest): ChatMessage | undefined {
  if (messages.length === 0) return undefined
  const place = ['messages', messages.length - 1] as const
  const { id, role, parts } = validate(lastMessage, messages.at(-1), 'invalid-body', place)
  const at = (index: number): readonly PropertyKey[] => [...place, 'parts', index]
  switch (role) {
    case 'user':
      return { role, id, input: { role, content: contentOf(parts.flatMap((part, index) => inputPartOf(part, at(index)))) } }
    case 'assistant': {
      const calls = parts.flatMap((part, index) => (isToolPart(part) ? validate(toolPart, part, 'invalid-body', at(index)) : []))
      return { role, id, results: calls.flatMap(resultOf), decisions: calls.flatMap(decisionOf) }
    }
    case 'system':
      throw invalid([...place, 'role'], 'Instructions can only be set by the server.')
    default: {
      const unknown: never = role
      return unknown
    }
  }
}

function contentOf(parts: readonly InputPart[]): UserMessageInput['content'] {
  const [first, ...others] = parts
  const isEmpty = parts.every((part) => part.type === 'text' && part.text.trim() === '')
  if (!first || isEmpty) throw invalid(['messages'], 'The last message must have a text or a file.')
  return first.type === 'text' && others.length === 0 ? first.text : [...parts]
}

/** Returns the input for a message part. Other parts that pages keep in a message are not for the model. */
function inputPartOf(part: Part, place: readonly PropertyKey[]): readonly InputPart[] {
  if (part.type === 'text') return [{ type: 'text', text: validate(textPart, part, 'invalid-body', place).text }]
  if (part.type === 'image') return [fileOf(validate(imagePart, part, 'invalid-body', place))]
  if (part.type !== 'file') return []
  const { mediaType, url, filename } = validate(filePart, part, 'invalid-body', place)
  const data = url.startsWith('data:') ? ({ type: 'data', data: base64Of(url, place) } as const) : ({ type: 'url', url } as const)
  return [{ type: 'file', mediaType, data, ...(filename !== undefined && { filename }) }]
}

const base64Form = /^[A-Za-z0-9+/]*={0,2}$/

function base64Of(url: string, place: readonly PropertyKey[]): string {
  const comma = url.indexOf(',')
  const data = url.slice(comma + 1)
  if (comma < 0 || !url.slice(0, comma).endsWith(';base64') || !base64Form.test(data)) {
    throw invalid([...place, 'url'], 'A data: URL must be in base64.')
  }
  return data
}

function isToolPart({ type }: Part): boolean {
  return type === 'dynamic-tool' || type.startsWith('tool-')
}

function resultOf({ toolCallId, state, output, errorText, preliminary }: z.infer<typeof toolPart>): readonly AnsweredCall[] {
  if (state === 'output-available' && !preliminary) return [{ toolCallId, output: output ?? null }]
  return state === 'output-error' ? [{ toolCallId, error: errorText ?? 'The tool failed.' }] : []
}

function decisionOf({ state, approval }: z.infer<typeof toolPart>): readonly Decision[] {
  if (state !== 'approval-responded' || approval?.approved === undefined) return []
  const { id: approvalId, approved, reason } = approval
  return [{ approvalId, approved, ...(reason !== undefined && { reason }) }]
}

function invalid(place: readonly PropertyKey[], message: string): ProblemError {
  const path = z.core.toDotPath([...place])
  return faulty('invalid-body', [{ path, message }])
}
