import { z } from '@hono/zod-openapi'
import type {
  ApprovalAnswer,
  ForkRequest,
  InputRequest,
  LabelRequest,
  OverlayRequest,
  ResolveRequest,
  StopRequest,
  SwitchRequest,
} from '@bowline/client'
import { sessionIdForm } from '../session-keys.ts'
import { jsonValue, maxItems, maxNameCharacters, name, userInput } from './fields.ts'
import { optional } from './optional.ts'
import { ofPendingCall, toolOutput, toolResults } from './requests.ts'
import { sameAs } from './same.ts'

const maxWaitMs = 30_000
const maxIdCharacters = 255
const maxInstructions = 10_000
const maxTurns = 1000
const maxLabelCharacters = 200

const reason = optional(z.string().max(maxInstructions))

export const toolResultsRequest = z.strictObject({ results: toolResults }).openapi('ToolResultsRequest')

export const stopRequest = sameAs<StopRequest>()(
  z.union([
    z.strictObject({
      runId: optional(name),
      mode: optional(z.literal('stop')),
      scope: optional(z.enum(['active', 'all'])),
      waitMs: optional(z.int().min(0).max(maxWaitMs)),
    }),
    z.strictObject({ mode: z.literal('kill') }),
  ]),
).openapi('StopRequest')

export const chatStopRequest = z
  .strictObject({ runId: optional(name), waitMs: optional(z.int().min(0).max(maxWaitMs)) })
  .openapi('ChatStopRequest')

const maxMessages = 500
const defaultMessages = 200

/** Page of messages, newest page first. */
export const messagesQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxMessages).default(defaultMessages),
  before: optional(z.string().min(1).max(256)),
})

/** `run` is the answer that the page has begun to show. */
export const resumeQuery = z.strictObject({ run: optional(z.string().min(1).max(256)) })

const path = optional(z.array(z.string().max(maxNameCharacters)).max(maxItems))
const resolved = { ...ofPendingCall, toolCallId: optional(name), path }

export const resolveRequest = sameAs<ResolveRequest>()(
  z.union([
    z.strictObject({ ...resolved, result: jsonValue }),
    z.strictObject({ ...resolved, ...toolOutput }),
    z.strictObject({ ...resolved, error: z.string() }),
    z.strictObject({ ...resolved, runAgain: z.literal(true) }),
    z.strictObject({ unknown: z.literal(true), path }),
  ]),
).openapi('ResolveRequest')

const inputFields = { input: userInput, id: optional(z.string().min(1).max(maxIdCharacters)) }

export const inputRequest = sameAs<InputRequest>()(z.strictObject(inputFields)).openapi('InputRequest')

export const overlayRequest = sameAs<OverlayRequest>()(
  z.strictObject({ ...inputFields, turns: optional(z.int().min(1).max(maxTurns)) }),
).openapi('OverlayRequest')

export const approvalAnswer = sameAs<ApprovalAnswer>()(
  z.union([
    z.strictObject({ decision: z.literal('approve'), input: optional(jsonValue), inputHash: optional(name), reason }),
    z.strictObject({ decision: z.literal('deny'), inputHash: optional(name), reason }),
  ]),
).openapi('ApprovalAnswer')

export const forkRequest = sameAs<ForkRequest>()(
  z.strictObject({ entryId: optional(name), newSessionId: optional(z.string().regex(sessionIdForm)) }),
).openapi('ForkRequest')

export const switchRequest = sameAs<SwitchRequest>()(
  z.strictObject({ entryId: name.nullable(), summarize: optional(z.boolean()), instructions: optional(z.string().max(maxInstructions)) }),
).openapi('SwitchRequest')

export const labelRequest = sameAs<LabelRequest>()(
  z.strictObject({ entryId: name, text: z.string().min(1).max(maxLabelCharacters).nullable() }),
).openapi('LabelRequest')

export const compactRequest = z.strictObject({ instructions: optional(z.string().max(maxInstructions)) }).openapi('CompactRequest')

export const recoverRequest = z.strictObject({ decision: z.enum(['continue', 'stop']) }).openapi('RecoverRequest')
