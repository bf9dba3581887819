import { runtimeParamsSchema } from '@bowline/llm'
import { z } from 'zod'
import { idForm } from '../arguments.ts'
import { requestStatuses } from '../bridge-contract.ts'

// Descriptions are written for models, which see only the schema.

export const idSchema = z.string().regex(idForm)

const agentIdSchema = idSchema.describe('Id of an agent, as agents_discover lists it. Default: the default agent.')

/** The advertised properties are not checked: agents without providers may use other values. */
const metadataSchema = z.record(z.string(), z.json()).meta({
  description: 'Any JSON object; reaches the agent unchanged, for the whole session.',
  properties: {
    provider: {
      type: 'string',
      description: 'For an agent with providers (agents_discover): the id of the one to use. Default: chosen by the agent.',
    },
    runtimeParams: {
      type: 'object',
      description: 'For such an agent: model settings of the whole session, with the fields of runtimeParams of sessions_prompt.',
    },
  },
})

const promptText = z.string().regex(/\S/, 'must be a text that is not blank')

/** Settings of a request besides its prompt. */
const requestShape = {
  runtimeParams: runtimeParamsSchema
    .optional()
    .describe(
      'Model settings for this prompt, over those of the session. Give only what must differ; agents without providers may ignore them.',
    ),
  requestId: idSchema
    .optional()
    .describe('An id of your choice: letters, digits, . _ : -. A repeat with the same id and input joins the first call.'),
  idempotencyKey: idSchema.optional().describe('As requestId, if you need no id: give one of the two.'),
  timeoutMs: z.int().min(1).optional().describe('Ms after which the request is cancelled. Default: the limit of the bridge.'),
}

const answeredId = z.string().min(1).describe('Id of the pending input.')

const answerSchema = z.union(
  [
    z.strictObject({
      id: answeredId,
      decision: z.enum(['approve', 'deny']).describe('To an approval.'),
      input: z.json().optional().describe('Replaces that of the call.'),
      reason: z.string().optional().describe('Told to the agent.'),
    }),
    z.strictObject({ id: answeredId, output: z.json().describe('To a tool: its result.') }),
    z.strictObject({ id: answeredId, error: z.string().describe('To a tool: why it failed.') }),
  ],
  { error: 'must be { id, decision } with approve or deny, { id, output } or { id, error }' },
)

export const createInputSchema = z.strictObject({
  agentId: agentIdSchema.optional(),
  metadata: metadataSchema.optional(),
  resumeSessionId: idSchema
    .optional()
    .describe('An earlier session of yours whose conversation goes on under a new id; of durable agents.'),
  idempotencyKey: idSchema.optional().describe('The same key with the same input gives the same session, so a repeat is safe.'),
})

export const promptInputSchema = z.strictObject({
  sessionId: idSchema.describe('As sessions_create answered it.'),
  prompt: promptText.optional().describe('What the agent is asked. Give either this or answers.'),
  answers: z
    .array(answerSchema)
    .min(1)
    .optional()
    .describe('Answers to what the request of the session waits for (pending). Give either this or prompt.'),
  ...requestShape,
})

export const delegateInputSchema = z.strictObject({
  prompt: promptText.describe('What the agent is asked to do, with all that it must know: it sees nothing else.'),
  agentId: agentIdSchema.optional(),
  metadata: metadataSchema.optional(),
  ...requestShape,
})

export const cancelInputSchema = z.strictObject({
  sessionId: idSchema.optional().describe('Cancels the running request of this session.'),
  requestId: idSchema.optional().describe('Cancels this request.'),
})

export const closeInputSchema = z.strictObject({
  sessionId: idSchema.describe('The session to end.'),
  reason: z.string().optional().describe('For the log of the bridge.'),
})

const pageShape = {
  limit: z.int().min(1).max(200).optional().describe('Most entries of a page. Default 50.'),
  cursor: z.string().optional().describe('nextCursor of the page before.'),
}

export const listInputSchema = z.strictObject({
  agentId: idSchema.optional().describe('Only sessions with this agent.'),
  status: z.enum(['active', 'busy', 'idle', 'failed']).optional().describe('Only sessions in this state.'),
  ...pageShape,
})

export const requestListInputSchema = z.strictObject({
  sessionId: idSchema.optional().describe('Only requests of this session.'),
  status: z.enum(requestStatuses).optional().describe('Only requests in this state.'),
  ...pageShape,
})
