import { z } from '@hono/zod-openapi'
import type {
  DeclaredTool,
  ExecuteOptions,
  ExecuteRequest,
  JsonValue,
  MessageInput,
  RuntimeParams,
  SessionContext,
  ToolDeclaration,
  ToolResultInput,
} from '@bowline/client'
import { isRecord } from '@bowline/llm/arguments'
import { sessionIdForm } from '../session-keys.ts'
import { anyJson, anyObject, jsonObject, maxItems, name, userContent, userInput } from './fields.ts'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

const maxTools = 32
const maxToolBytes = 64 * 1024
const toolNameForm = /^[A-Za-z0-9_-]{1,64}$/

type ToolOutput = Extract<ToolResultInput, { readonly output: unknown }>

const answered = {
  role: optional(z.literal('tool-result')),
  toolCallId: name,
  path: optional(z.array(z.string())),
}
/** Fields of a pending call. A client may send them along with the answer. */
export const ofPendingCall = {
  toolName: optional(name),
  input: optional(anyJson<JsonValue>()),
  deadlineAt: optional(z.number()),
  agent: optional(z.array(z.string())),
  background: optional(z.array(z.string())),
  unknown: optional(z.literal(true)),
}
export const toolOutput = {
  output: anyJson<ToolOutput['output']>(),
  details: optional(anyJson<Exclude<ToolOutput['details'], undefined>>()),
  isError: optional(z.boolean()),
}

const toolResult = sameAs<ToolResultInput>()(
  z.union([
    z.strictObject({
      ...answered,
      ...ofPendingCall,
      ...toolOutput,
    }),
    z.strictObject({ ...answered, ...ofPendingCall, error: z.string() }),
    z.strictObject({ ...answered, unknown: z.literal(true) }),
  ]),
).openapi('ToolResultInput')
export const toolResults = z.array(toolResult).min(1).max(maxItems)

const toolSchema = z.custom<ToolDeclaration['inputSchema']>(isRecord, 'A JSON Schema is needed.').openapi(anyObject)
const declaredTool = z
  .strictObject({
    name: z.string().regex(toolNameForm),
    description: z.string(),
    inputSchema: optional(toolSchema),
    parameters: optional(toolSchema),
    label: optional(z.string()),
    effect: optional(z.enum(['pure', 'idempotent', 'once'])),
  })
  .refine((tool) => 'inputSchema' in tool !== 'parameters' in tool, {
    path: ['inputSchema'],
    message: 'A tool needs its schema as inputSchema or as parameters, not as both.',
  })
  .openapi('DeclaredTool') as unknown as z.ZodType<DeclaredTool>

/** Message as `GET` of a session returns it. Parts that are not used may have any value. */
const storedMessage = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('user'), id: name, content: userContent }),
  z.looseObject({
    role: z.literal('assistant'),
    id: name,
    content: z.array(z.looseObject({ type: z.string(), text: optional(z.string()) })),
  }),
  z.looseObject({ role: z.literal('tool-result'), id: name, toolCallId: z.string() }),
]) as unknown as z.ZodType<Extract<MessageInput, { readonly id: string }>>
const historyMessage = z
  .union([
    z.strictObject({ role: z.literal('user'), content: userContent }),
    z.strictObject({ role: z.literal('assistant'), content: z.string().min(1) }),
    storedMessage,
  ])
  .openapi('MessageInput')

const sessionContext = sameAs<SessionContext>()(
  z.strictObject({
    agent: optional(name),
    messages: optional(z.array(historyMessage).max(maxItems)),
    tools: optional(
      z
        .array(declaredTool)
        .max(maxTools)
        .refine(isSmall, `Tools may have at most ${maxToolBytes} bytes in all.`)
        .refine(areDistinct, 'Each tool needs a name of its own.'),
    ),
    metadata: optional(jsonObject),
  }),
)

const runtimeParams = sameAs<RuntimeParams>()(
  z.strictObject({
    model: name.optional(),
    temperature: z.number().min(0).max(2).optional(),
    maxTokens: z.int().positive().optional(),
    topP: z.number().min(0).max(1).optional(),
    topK: z.int().positive().optional(),
    stopSequences: z.array(z.string()).optional(),
    systemPrompt: z.string().optional(),
    reasoning: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
    seed: z.int().optional(),
    providerSpecific: (jsonObject as unknown as z.ZodType<NonNullable<RuntimeParams['providerSpecific']>>).optional(),
  }),
).openapi('RuntimeParams')

const executeOptions = sameAs<ExecuteOptions>()(
  z.strictObject({
    model: optional(name),
    runtimeParams: optional(runtimeParams),
    output: optional(
      jsonObject
        .refine(({ type }) => type === 'object', "A JSON Schema with the type 'object' is needed.")
        .refine(isSmall, `A schema may have at most ${maxToolBytes} bytes.`),
    ),
    onBusy: optional(z.enum(['queue', 'steer', 'interrupt', 'reject'])),
    deltas: optional(z.union([z.boolean(), z.literal('short')])),
  }),
)

export const executeRequest = sameAs<ExecuteRequest>()(
  z.strictObject({
    sessionId: optional(z.string().regex(sessionIdForm)),
    input: z.union([userInput, toolResults]),
    context: optional(sessionContext),
    options: optional(executeOptions),
  }),
).openapi('ExecuteRequest')

export const idempotencyKey = z.string().min(1).max(255)

export const delegationDepth = z
  .string()
  .regex(/^\d{1,3}$/)
  .transform(Number)

function isSmall(given: object): boolean {
  return new TextEncoder().encode(JSON.stringify(given)).length <= maxToolBytes
}

function areDistinct(tools: readonly DeclaredTool[]): boolean {
  return new Set(tools.map((tool) => tool.name)).size === tools.length
}
