import { runtimeParamsSchema } from '@bowline/llm'
import { z } from 'zod'
import { idForm } from '../arguments.ts'

export const idSchema = z.string().regex(idForm)

const metadataSchema = z.record(z.string(), z.json())

const promptText = z.string().regex(/\S/, 'must be a text that is not blank')

/** What a caller may say of a request, besides what it asks. */
const requestShape = {
  runtimeParams: runtimeParamsSchema.optional().describe('Model settings for this prompt.'),
  requestId: idSchema.optional().describe('The same id with the same input joins the first call.'),
  idempotencyKey: idSchema.optional().describe('As requestId, for a caller that needs no id of its own: give one of the two.'),
  timeoutMs: z.int().positive().optional().describe('Limit for the whole request.'),
}

const answerSchema = z.union(
  [
    z.strictObject({ id: z.string().min(1), decision: z.enum(['approve', 'deny']), input: z.json().optional(), reason: z.string().optional() }),
    z.strictObject({ id: z.string().min(1), output: z.json() }),
    z.strictObject({ id: z.string().min(1), error: z.string() }),
  ],
  { error: 'must be { id, decision } with approve or deny, { id, output } or { id, error }' },
)

export const createInputSchema = z.strictObject({
  agentId: idSchema.optional().describe('Which agent. Default: the default agent.'),
  metadata: metadataSchema.optional().describe('Passed to the agent unchanged.'),
  resumeSessionId: idSchema.optional().describe('An earlier session whose conversation goes on under a new handle.'),
  idempotencyKey: idSchema.optional().describe('The same key with the same input gives the same session.'),
})

export const promptInputSchema = z.strictObject({
  sessionId: idSchema,
  prompt: promptText.optional().describe('What the agent is asked. Give either this or answers.'),
  answers: z.array(answerSchema).min(1).optional().describe('Answers to what the request of the session waits for.'),
  ...requestShape,
})

export const delegateInputSchema = z.strictObject({
  prompt: promptText.describe('What the agent is asked to do.'),
  agentId: idSchema.optional().describe('Which agent. Default: the default agent.'),
  metadata: metadataSchema.optional().describe('Passed to the agent unchanged.'),
  ...requestShape,
})

export const cancelInputSchema = z.strictObject({
  sessionId: idSchema.optional().describe('Cancels its running request.'),
  requestId: idSchema.optional(),
})

export const closeInputSchema = z.strictObject({
  sessionId: idSchema,
  reason: z.string().optional().describe('For the log.'),
})

export const listInputSchema = z.strictObject({
  agentId: idSchema.optional(),
  status: z.enum(['active', 'busy', 'idle', 'failed']).optional(),
  limit: z.int().min(1).max(200).optional().describe('Default 50.'),
  cursor: z.string().optional().describe('nextCursor of the page before.'),
})
