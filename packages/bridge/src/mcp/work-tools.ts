import { z } from 'zod'
import type { DelegateInput, PromptInput } from '../bridge-contract.ts'
import { promptIssues, requestIssues } from '../input/check-input.ts'
import { delegateInputSchema, idSchema, promptInputSchema } from '../input/schemas.ts'
import { answerRun } from './answer-run.ts'
import { givenFields } from '../given-fields.ts'
import { outcomeOnTheWire } from './outcome-on-the-wire.ts'
import { outcomeSchema } from './schemas.ts'
import { tool } from './tool.ts'

const waitMsSchema = z.int().min(0)

/** Of both ways to give work. */
const waitField = {
  waitMs: waitMsSchema
    .optional()
    .describe('How long this call waits before it answers with the status running. The work goes on; ask tasks_status.'),
}

export const sessionsPrompt = tool({
  name: 'sessions_prompt',
  title: 'Prompt a session',
  description:
    'Gives a session its next prompt, or answers to what its request waits for: exactly one of prompt and answers. ' +
    'A status running or queued means that the work goes on: ask tasks_status with the requestId.',
  input: promptInputSchema.extend(waitField),
  issues: (input, limits) => promptIssues(input as PromptInput, limits),
  oldNames: { timeout: 'timeoutMs' },
  output: outcomeSchema,
  annotations: { openWorldHint: true },
  run: (call, { waitMs = call.bridge.limits.waitMs, ...input }) =>
    answerRun(call, {
      start: (abortSignal) => call.bridge.prompt({ ...(givenFields(input) as PromptInput), abortSignal }),
      waitMs,
      // The session knows its request.
      canBeFound: true,
    }),
})

export const tasksDelegate = tool({
  name: 'tasks_delegate',
  title: 'Delegate a task',
  description:
    'Hands a prompt to an agent in a session of its own and gives the outcome. ' +
    'A status running or queued means that the work goes on: ask tasks_status with the requestId.',
  input: delegateInputSchema.extend({
    ...waitField,
    mode: z.enum(['wait', 'background']).default('wait').describe('background: answers as soon as the task is accepted.'),
  }),
  issues: (input, limits) => requestIssues(input as DelegateInput, limits),
  oldNames: { timeout: 'timeoutMs', workerId: 'agentId' },
  output: outcomeSchema,
  annotations: { openWorldHint: true },
  run: (call, { waitMs = call.bridge.limits.waitMs, mode, ...input }) =>
    answerRun(call, {
      start: (abortSignal) => call.bridge.delegate({ ...(givenFields(input) as DelegateInput), abortSignal }),
      waitMs: mode === 'background' ? 0 : waitMs,
      canBeFound: input.requestId !== undefined || input.idempotencyKey !== undefined,
    }),
})

export const tasksStatus = tool({
  name: 'tasks_status',
  title: 'Task status',
  description: 'Says what became of a request, also of one whose session is gone. With waitMs it waits for the outcome.',
  input: z.strictObject({
    requestId: idSchema.describe('The request.'),
    waitMs: waitMsSchema.max(600_000).default(0).describe('How long to wait for the outcome.'),
  }),
  output: outcomeSchema,
  annotations: { readOnlyHint: true },
  run: async ({ bridge, abortSignal }, { requestId, waitMs }) =>
    outcomeOnTheWire(await bridge.request(requestId, { waitMs: waitMs ?? 0, abortSignal })),
})
