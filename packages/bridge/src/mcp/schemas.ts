import { z } from 'zod'
import { bridgeErrorCodes } from '../errors.ts'
import { idSchema } from '../input/schemas.ts'

/** What tools give: loose, so that fields can be added without breaking who checks them. */

const sessionStatusSchema = z.enum(['active', 'busy', 'idle', 'failed'])

const metadataSchema = z.record(z.string(), z.json())

const errorBodySchema = z.looseObject({
  code: z.enum(bridgeErrorCodes),
  message: z.string(),
  retryable: z.boolean(),
  details: z.record(z.string(), z.json()),
})

export const sessionSchema = z.looseObject({
  sessionId: idSchema,
  agentId: idSchema,
  status: sessionStatusSchema,
  createdAt: z.int(),
  lastActivityAt: z.int(),
  expiresAt: z.int().optional(),
  currentRequestId: idSchema.optional(),
  lastError: errorBodySchema.optional(),
  metadata: metadataSchema.optional(),
})

const tokensSchema = z.int().min(0)

const usageSchema = z.looseObject({
  inputTokens: tokensSchema,
  outputTokens: tokensSchema,
  cacheReadTokens: tokensSchema.optional(),
  reasoningTokens: tokensSchema.optional(),
  estimated: z.literal(true).optional(),
})

const decimalSchema = z.string()

const costSchema = z.looseObject({
  currency: z.string(),
  total: decimalSchema,
  input: decimalSchema,
  cacheRead: decimalSchema,
  cacheWrite: decimalSchema,
  output: decimalSchema,
  estimated: z.literal(true).optional(),
})

const pendingInputSchema = z.looseObject({
  id: z.string(),
  kind: z.enum(['approval', 'tool']),
  toolName: z.string(),
  input: z.json(),
  agent: z.array(z.string()).optional(),
})

export const outcomeSchema = z.looseObject({
  status: z.enum(['queued', 'running', 'awaiting-tools', 'awaiting-approval', 'awaiting-subagent', 'completed', 'aborted', 'halted', 'limit']),
  sessionId: idSchema,
  agentId: idSchema,
  requestId: idSchema,
  text: z.string().optional(),
  stopReason: z
    .enum(['end_turn', 'max_tokens', 'max_turn_requests', 'refusal', 'cancelled', 'needs_input', 'other'])
    .optional(),
  structured: z.json().optional(),
  usage: usageSchema.optional(),
  cost: costSchema.optional(),
  pending: z.array(pendingInputSchema).optional(),
  progress: z.looseObject({ message: z.string().optional(), chars: z.int(), at: z.int() }).optional(),
})

export const healthSchema = z.looseObject({
  healthy: z.boolean(),
  version: z.string(),
  uptimeMs: z.number(),
  agents: z.looseObject({ total: z.int(), ready: z.int() }),
  sessions: z.looseObject({ active: z.int(), capacity: z.int() }),
  requests: z.looseObject({ inFlight: z.int(), capacity: z.int(), queued: z.int() }),
  owner: z.looseObject({
    sessions: z.looseObject({ active: z.int(), capacity: z.int() }),
    requests: z.looseObject({ inFlight: z.int(), capacity: z.int(), queued: z.int(), queueCapacity: z.int() }),
  }),
  executors: z.array(
    z.looseObject({
      kind: z.string(),
      healthy: z.boolean(),
      reason: z.string().optional(),
      workers: z.array(z.looseObject({ id: z.string(), state: z.string(), restarts: z.int(), reason: z.string().optional() })).optional(),
      leftOut: z.array(z.looseObject({ id: z.string(), reason: z.string() })).optional(),
    }),
  ),
})

const providerSchema = z.looseObject({
  id: z.string(),
  models: z.array(z.string()),
  kind: z.string().optional(),
  displayName: z.string().optional(),
  description: z.string().optional(),
  capabilities: z.array(z.string()).optional(),
})

export const agentListSchema = z.looseObject({
  agents: z.array(
    z.looseObject({
      id: idSchema,
      name: z.string().optional(),
      description: z.string().optional(),
      version: z.string().optional(),
      capabilities: z.array(z.string()),
      status: z.enum(['ready', 'busy', 'starting', 'unavailable']),
      reason: z.string().optional(),
      executor: z.string(),
      durable: z.boolean(),
      default: z.boolean(),
      providers: z.array(providerSchema).optional(),
    }),
  ),
})
