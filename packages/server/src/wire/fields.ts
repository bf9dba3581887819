import { z } from '@hono/zod-openapi'
import type { ImagePart, JsonObject, JsonValue, UserInput } from '@bowline/client'
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
const imageForm = /^(?:https?:\/\/.*|(?:data:image\/[^;,]+(?:;[^;,]+)*;base64,)?[A-Za-z0-9+/]+={0,2})$/i
const imageFault = 'An image is base64, a data: URL of an image in base64, or an http(s) address.'
/** Image in the form of the AI SDK. */
export const imageFields = {
  type: z.literal('image'),
  image: z.string().regex(imageForm, imageFault),
  mediaType: optional(name.regex(/^image\/./i, 'The media type of an image begins with image/.')),
}
const imagePart = sameAs<ImagePart>()(z.strictObject(imageFields)) as z.ZodType<ImagePart> & z.ZodObject<typeof imageFields>

const text = z.string().regex(notBlank, 'A text or a file is needed.')
const parts = z
  .array(z.discriminatedUnion('type', [textPart, filePart, imagePart]))
  .max(maxItems)
  .refine((all) => all.some((part) => part.type !== 'text' || notBlank.test(part.text)), 'A text or a file is needed.')
export const userContent = z.union([text, parts])
export const userInput = sameAs<UserInput>()(z.union([text, z.strictObject({ role: z.literal('user'), content: userContent })])).openapi(
  'UserInput',
)

/** Accepts any JSON value: the body was parsed as JSON, so every value in it is one. */
export function anyJson<T>() {
  return z.custom<T>((value) => value !== undefined, 'A JSON value is needed.').openapi({ type: [...jsonTypes] })
}
