import { z } from '@hono/zod-openapi'
import type {
  AgentSummary,
  ApprovalReceipt,
  BranchList,
  CompactionResult,
  Identity,
  InputReceipt,
  JsonObject,
  LabelList,
  Problem,
  SessionList,
  SessionSummary,
  SessionView,
  StopReceipt,
  TenantSpending,
  Ticket,
} from '@bowline/client'
import { statuses } from '@bowline/agent-loop'
import type { ChatHistory } from '@bowline/client/chat'
import type { SubmissionReceipt } from '@bowline/agent-loop'
import { scopes } from '../auth/principal.ts'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

/** Schema of an object whose type another layer owns: events and messages. */
function object<T>(description: string): z.ZodType<T> {
  return z
    .custom<T>((value) => typeof value === 'object' && value !== null)
    .openapi({ type: 'object', additionalProperties: true, description })
}

export const status = z.enum(statuses)
const outcome = z.enum([
  'completed',
  'aborted',
  'halted',
  'limit',
  'error',
  'awaiting-tools',
  'awaiting-approval',
  'awaiting-subagent',
  'needs-recovery',
])
const outcomeStatus = z.enum(['result', 'error', 'denied', 'cancelled', 'unknown'])

const spent = z.strictObject({
  usage: object<SessionView['usage']>('Tokens.'),
  cost: optional(object<NonNullable<SessionView['cost']>>('What they cost, as far as prices are known.')),
})

const summary = {
  sessionId: z.string(),
  agent: z.string(),
  status: optional(status),
  outcome: optional(outcome),
  createdAt: z.int(),
  updatedAt: z.int(),
  metadata: object<JsonObject>('What the client gave when it made the session.'),
  parent: optional(z.string()),
  forkedFrom: optional(z.strictObject({ sessionId: z.string(), entryId: z.string().nullable() })),
  expiresAt: optional(z.int()),
  expiredAt: optional(z.int()),
}

export const sessionView = sameAs<SessionView>()(
  z.strictObject({
    ...summary,
    messages: z.array(object<SessionView['messages'][number]>('A user, assistant or tool-result message.')),
    hasMore: z.boolean(),
    pendingToolCalls: z.array(object<SessionView['pendingToolCalls'][number]>('A call that waits for its result.')),
    pendingApprovals: z.array(object<SessionView['pendingApprovals'][number]>('A question that waits for its decision.')),
    run: optional(z.strictObject({ runId: z.string(), status, outcome: optional(outcome), attempts: z.int() })),
    heldRuns: optional(z.array(z.strictObject({ runId: z.string(), agent: z.array(z.string()), message: z.string() }))),
    usage: object<SessionView['usage']>('Tokens of its own runs.'),
    cost: optional(object<NonNullable<SessionView['cost']>>('What they cost, as far as prices are known.')),
    children: spent,
    total: spent,
    orchestration: optional(z.strictObject({ step: optional(z.string()), sequenceIndex: z.int(), tools: z.array(z.string()) })),
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
    capabilities: z.array(z.string()),
    clientTools: z.enum(['none', 'declared', 'any']),
    models: z.array(z.string()),
    default: z.boolean(),
  }),
).openapi('AgentSummary')

export interface AgentList {
  readonly agents: readonly AgentSummary[]
}

export const identity = sameAs<Identity>()(
  z.strictObject({ id: z.string(), tenant: z.string(), scopes: z.array(z.enum(scopes)), expiresAt: optional(z.int()) }),
).openapi('Identity')

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
    status: optional(status),
    calls: z.array(stoppedCall),
    children: z.array(object<StopReceipt>('The receipt of a child run.')),
  }),
).openapi('StopReceipt')

const uiMessages = z.array(object<ChatHistory['messages'][number]>('A message of the AI SDK.'))

export const chatHistory = sameAs<ChatHistory>()(
  z.strictObject({
    id: z.string(),
    messages: uiMessages,
    queued: uiMessages,
    next: optional(z.string()),
    cursor: z.string(),
    run: optional(z.strictObject({ runId: z.string(), status, stopping: z.boolean() })),
  }),
).openapi('ChatHistory')

export const submissionReceipt = sameAs<SubmissionReceipt>()(
  z.strictObject({ accepted: z.array(z.string()), repeated: z.array(z.string()), missing: z.array(z.string()) }),
).openapi('SubmissionReceipt')

export const ticket = sameAs<Ticket>()(z.strictObject({ ticket: z.string(), expiresAt: z.int() })).openapi('Ticket')

export const inputReceipt = sameAs<InputReceipt>()(
  z.strictObject({
    runId: z.string(),
    accepted: z.enum(['steered', 'queued', 'duplicate']),
    behind: optional(z.strictObject({ runId: z.string(), status })),
  }),
).openapi('InputReceipt')

export const approvalReceipt = sameAs<ApprovalReceipt>()(
  z.strictObject({
    approvalId: z.string(),
    decision: z.enum(['approve', 'deny']),
    by: optional(z.string()),
    at: z.int(),
    repeated: z.boolean(),
    missing: z.array(z.string()),
  }),
).openapi('ApprovalReceipt')

const branch = z.strictObject({
  leaf: z.string(),
  entries: z.int(),
  at: z.int(),
  label: optional(z.string()),
  active: z.boolean(),
})

export const branchList = sameAs<BranchList>()(z.strictObject({ branches: z.array(branch), nextCursor: optional(z.string()) })).openapi(
  'BranchList',
)

export const labelList = sameAs<LabelList>()(
  z.strictObject({ labels: z.array(z.strictObject({ entryId: z.string(), text: z.string(), at: z.int() })) }),
).openapi('LabelList')

export const compactionResult = sameAs<CompactionResult>()(
  z.strictObject({
    outcome: z.enum(['done', 'skipped', 'cancelled', 'failed']),
    reason: optional(z.string()),
    tokensBefore: z.int(),
    tokensAfter: optional(z.int()),
    usage: optional(object<NonNullable<CompactionResult['usage']>>('Tokens of the calls that made it.')),
    compaction: optional(object<NonNullable<CompactionResult['compaction']>>('What the model is shown instead.')),
    entryId: optional(z.string()),
  }),
).openapi('CompactionResult')

const tenantCost = (description: string) => optional(object<NonNullable<TenantSpending['spent']>>(description))

export const tenantSpending = sameAs<TenantSpending>()(
  z.strictObject({
    tenant: z.string(),
    currency: z.string(),
    maxCost: optional(z.string()),
    granted: optional(z.string()),
    spent: tenantCost('What answers have cost in the window.'),
    reserved: tenantCost('For model calls that are under way.'),
    left: optional(z.number()),
    windowStartsAt: z.int(),
    windowEndsAt: z.int(),
  }),
).openapi('TenantSpending')

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
