import { z } from '@hono/zod-openapi'
import type { ProviderOptions } from '@bowline/llm'
import type { ExecuteRequest, JsonObject, JsonValue, StopRequest, ToolResolution, ToolResultInput } from '@bowline/client'
import { sessionIdForm } from '../session-keys.ts'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

const maxItems = 1000
const maxWaitMs = 30_000
const maxNameCharacters = 256

const jsonTypes = ['object', 'array', 'string', 'number', 'boolean', 'null'] as const

type ToolOutput = Extract<ToolResultInput, { readonly output: unknown }>

const jsonValue = anyJson<JsonValue>()
const jsonObject = z
  .custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value), 'An object is needed.')
  .openapi({ type: 'object', additionalProperties: true })
const providerOptions = z.record(z.string(), jsonObject) as unknown as z.ZodType<ProviderOptions>

const textPart = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  providerOptions: optional(providerOptions),
})
const filePart = z.strictObject({
  type: z.literal('file'),
  mediaType: z.string().min(1).max(maxNameCharacters),
  data: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('data'), data: z.string() }),
    z.strictObject({ type: z.literal('url'), url: z.string() }),
  ]),
  filename: optional(z.string().max(maxNameCharacters)),
  providerOptions: optional(providerOptions),
})
const userMessage = z.strictObject({
  role: z.literal('user'),
  content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textPart, filePart])).min(1).max(maxItems)]),
})

const answered = {
  role: optional(z.literal('tool-result')),
  toolCallId: z.string().min(1).max(maxNameCharacters),
  path: optional(z.array(z.string())),
}
const toolResult = sameAs<ToolResultInput>()(
  z.union([
    z.strictObject({
      ...answered,
      output: anyJson<ToolOutput['output']>(),
      details: optional(anyJson<Exclude<ToolOutput['details'], undefined>>()),
      isError: optional(z.boolean()),
    }),
    z.strictObject({ ...answered, error: z.string() }),
    z.strictObject({ ...answered, unknown: z.literal(true) }),
  ]),
).openapi('ToolResultInput')
const toolResults = z.array(toolResult).min(1).max(maxItems)

export const executeRequest = sameAs<ExecuteRequest>()(
  z.strictObject({
    sessionId: optional(z.string().regex(sessionIdForm)),
    input: z.union([userMessage, toolResults]),
    context: optional(
      z.strictObject({
        agent: optional(z.string().min(1).max(maxNameCharacters)),
        metadata: optional(jsonObject),
      }),
    ),
    options: optional(
      z.strictObject({
        onBusy: optional(z.enum(['queue', 'reject'])),
        deltas: optional(z.boolean()),
      }),
    ),
  }),
).openapi('ExecuteRequest')

export const toolResultsRequest = z.strictObject({ results: toolResults }).openapi('ToolResultsRequest')

export const stopRequest = sameAs<StopRequest>()(
  z.strictObject({
    runId: optional(z.string().min(1).max(maxNameCharacters)),
    mode: optional(z.literal('stop')),
    scope: optional(z.enum(['active', 'all'])),
    waitMs: optional(z.int().min(0).max(maxWaitMs)),
  }),
).openapi('StopRequest')

export const toolResolution = sameAs<ToolResolution>()(
  z.union([
    z.strictObject({ result: jsonValue }),
    z.strictObject({ error: z.string() }),
    z.strictObject({ runAgain: z.literal(true) }),
    z.strictObject({ unknown: z.literal(true) }),
  ]),
).openapi('ToolResolution')

export const idempotencyKey = z.string().min(1).max(255)

/** The body was parsed as JSON before: every value in it is a JSON value. */
function anyJson<T>() {
  return z.custom<T>((value) => value !== undefined, 'A JSON value is needed.').openapi({ type: [...jsonTypes] })
}
