import { z } from '@hono/zod-openapi'
import type { JsonObject, JsonValue, UserMessageInput } from '@bowline/client'
import type { ProviderOptions } from '@bowline/llm'
import { isRecord } from '@bowline/llm/arguments'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

export const maxItems = 1000
export const maxNameCharacters = 256

const jsonTypes = ['object', 'array', 'string', 'number', 'boolean', 'null'] as const

export const name = z.string().min(1).max(maxNameCharacters)
export const jsonValue = anyJson<JsonValue>()
export const anyObject = { type: 'object', additionalProperties: true } as const
export const jsonObject = z.custom<JsonObject>(isRecord, 'An object is needed.').openapi(anyObject)
const providerOptions = z.record(z.string(), jsonObject) as unknown as z.ZodType<ProviderOptions>

const notBlank = /\S/

const textPart = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  providerOptions: optional(providerOptions),
})
const filePart = z.strictObject({
  type: z.literal('file'),
  mediaType: name,
  data: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('data'), data: z.string() }),
    z.strictObject({ type: z.literal('url'), url: z.string() }),
  ]),
  filename: optional(z.string().max(maxNameCharacters)),
  providerOptions: optional(providerOptions),
})
export const userMessage = sameAs<UserMessageInput>()(
  z.strictObject({
    role: z.literal('user'),
    content: z.union([
      z.string().regex(notBlank, 'A text or a file is needed.'),
      z
        .array(z.discriminatedUnion('type', [textPart, filePart]))
        .max(maxItems)
        .refine((parts) => parts.some((part) => part.type !== 'text' || notBlank.test(part.text)), 'A text or a file is needed.'),
    ]),
  }),
).openapi('UserMessageInput')

/** The body was parsed as JSON before: every value in it is a JSON value. */
export function anyJson<T>() {
  return z.custom<T>((value) => value !== undefined, 'A JSON value is needed.').openapi({ type: [...jsonTypes] })
}
