import { z } from '@hono/zod-openapi'
import type {
  AgentSummary,
  JsonObject,
  Problem,
  SessionList,
  SessionSummary,
  SessionView,
  StopReceipt,
  Ticket,
} from '@bowline/client'
import type { SubmissionReceipt } from '@bowline/agent-loop'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

/** Objects whose types other layers own: their form is that of the events and messages. */
function object<T>(description: string): z.ZodType<T> {
  return z
    .custom<T>((value) => typeof value === 'object' && value !== null)
    .openapi({ type: 'object', additionalProperties: true, description })
}

const sessionStatus = z.enum(['active', 'busy', 'idle', 'failed', 'expired'])
const runStatus = z.enum([
  'queued',
  'running',
  'completed',
  'awaiting-tools',
  'awaiting-approval',
  'halted',
  'limit',
  'aborted',
  'error',
  'needs-recovery',
])
const outcomeStatus = z.enum(['result', 'error', 'denied', 'cancelled', 'unknown'])

const summary = {
  sessionId: z.string(),
  agent: z.string(),
  status: sessionStatus,
  createdAt: z.int(),
  updatedAt: z.int(),
  metadata: object<JsonObject>('What the client gave when it made the session.'),
}

export const sessionView = sameAs<SessionView>()(
  z.strictObject({
    ...summary,
    messages: z.array(object<SessionView['messages'][number]>('A user, assistant or tool-result message.')),
    hasMore: z.boolean(),
    pendingToolCalls: z.array(object<SessionView['pendingToolCalls'][number]>('A call that waits for its result.')),
    pendingApprovals: z.array(object<SessionView['pendingApprovals'][number]>('A question that waits for its decision.')),
    run: optional(z.strictObject({ runId: z.string(), status: runStatus, attempts: z.int() })),
    usage: object<SessionView['usage']>('Tokens of the whole session.'),
    cursor: z.string(),
  }),
).openapi('SessionView')

const sessionSummary = sameAs<SessionSummary>()(z.strictObject(summary)).openapi('SessionSummary')

export const sessionList = sameAs<SessionList>()(
  z.strictObject({ sessions: z.array(sessionSummary), nextCursor: optional(z.string()) }),
).openapi('SessionList')

const agentSummary = sameAs<AgentSummary>()(
  z.strictObject({
    id: z.string(),
    description: optional(z.string()),
    clientTools: z.enum(['none', 'declared', 'any']),
    default: z.boolean(),
  }),
).openapi('AgentSummary')

export interface AgentList {
  readonly agents: readonly AgentSummary[]
}

export const agentList = sameAs<AgentList>()(z.strictObject({ agents: z.array(agentSummary) })).openapi('AgentList')

const stoppedCall = z.strictObject({
  toolCallId: z.string(),
  toolName: z.string(),
  status: z.union([outcomeStatus, z.literal('running')]),
})

export const stopReceipt = sameAs<StopReceipt>()(
  z.strictObject({
    runId: z.string().nullable(),
    state: z.enum(['settled', 'pending', 'nothing-to-stop']),
    status: optional(runStatus),
    calls: z.array(stoppedCall),
    children: z.array(object<StopReceipt>('The receipt of a child run.')),
  }),
).openapi('StopReceipt')

export const submissionReceipt = sameAs<SubmissionReceipt>()(
  z.strictObject({ accepted: z.array(z.string()), repeated: z.array(z.string()), missing: z.array(z.string()) }),
).openapi('SubmissionReceipt')

export const ticket = sameAs<Ticket>()(z.strictObject({ ticket: z.string(), expiresAt: z.int() })).openapi('Ticket')

export const runReference = z.strictObject({ runId: z.string() }).openapi('RunReference')

export const health = z.strictObject({ status: z.enum(['ok', 'ready', 'not-ready']) }).openapi('Health')

export const openApiDocument = object<object>('This document.')

export const problem = sameAs<Problem>()(
  z.strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    requestId: z.string(),
    retryable: z.boolean(),
    retryAfterMs: optional(z.int()),
    errors: optional(z.array(z.strictObject({ path: z.string(), message: z.string() }))),
    refused: optional(z.array(z.strictObject({ id: z.string(), code: z.string() }))),
    runId: optional(z.string()),
    firstSeq: optional(z.int()),
  }),
).openapi('Problem')
