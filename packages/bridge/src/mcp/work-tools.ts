import { z } from 'zod'
import type { DelegateInput, PromptInput } from '../bridge-contract.ts'
import { listIssues, promptIssues, requestIssues } from '../input/check-input.ts'
import { delegateInputSchema, idSchema, promptInputSchema, requestListInputSchema } from '../input/schemas.ts'
import type { InputIssue } from '../input/issues.ts'
import { answerRun } from './answer-run.ts'
import { givenFields } from '../given-fields.ts'
import { outcomeOnTheWire } from './outcome-on-the-wire.ts'
import { outcomeSchema, requestListSchema, taskStatusSchema } from './schemas.ts'
import { statusOfSeveral } from './status-of-several.ts'
import { givesWork, looks, tool } from './tool.ts'

const waitMsSchema = z.int().min(0)

const maxStatusIds = 50

/** Field of both tools that start work. */
const waitField = {
  waitMs: waitMsSchema.optional().describe('Ms until this call answers running while the work goes on. Default: the limit of the bridge.'),
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
  annotations: givesWork,
  run: (call, { waitMs = call.bridge.limits.waitMs, ...input }) =>
    answerRun(call, {
      start: (abortSignal) => call.bridge.prompt({ ...(givenFields(input) as PromptInput), abortSignal }),
      waitMs,
      // The caller can find the request through its session.
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
    mode: z
      .enum(['wait', 'background'])
      .default('wait')
      .describe('background: answers as soon as the task is accepted; tasks_status gives the outcome.'),
  }),
  issues: (input, limits) => requestIssues(input as DelegateInput, limits),
  oldNames: { timeout: 'timeoutMs', workerId: 'agentId' },
  output: outcomeSchema,
  annotations: givesWork,
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
  description:
    'Says what became of a request, also of one whose session is gone, or of several: exactly one of requestId and requestIds. ' +
    'With waitMs it waits for the outcome. A lost requestId is found with tasks_list.',
  input: z.strictObject({
    requestId: idSchema.optional().describe('The request. The answer is its outcome, or its error.'),
    requestIds: z
      .array(idSchema)
      .min(1)
      .max(maxStatusIds)
      .optional()
      .describe(`Up to ${maxStatusIds} requests. The answer is a list of them.`),
    waitFor: z
      .enum(['any', 'all'])
      .default('all')
      .describe('With requestIds and waitMs: wait until one of them has ended or needs answers, or until all have.'),
    waitMs: waitMsSchema.max(600_000).default(0).describe('How long in ms to wait for that. Default: not at all.'),
  }),
  issues: statusIssues,
  output: taskStatusSchema,
  annotations: looks,
  run: async ({ bridge, abortSignal, redaction }, { requestId, requestIds = [], waitFor = 'all', waitMs = 0 }) => {
    if (requestId === undefined)
      return { requests: await statusOfSeveral(bridge, [...new Set(requestIds)], { waitFor, waitMs, abortSignal, redaction }) }
    return outcomeOnTheWire(await bridge.request(requestId, { waitMs, abortSignal }))
  },
})

export const tasksList = tool({
  name: 'tasks_list',
  title: 'List tasks',
  description:
    'Lists your requests, newest first: those that go on, and those that ended not long ago. It finds a requestId that was lost; tasks_status gives the answers.',
  input: requestListInputSchema,
  issues: listIssues,
  output: requestListSchema,
  annotations: looks,
  run: ({ bridge }, input) => bridge.requests(givenFields(input)),
})

function statusIssues(input: { readonly requestId?: unknown; readonly requestIds?: unknown }): readonly InputIssue[] {
  const isOne = (input.requestId === undefined) !== (input.requestIds === undefined)
  return isOne ? [] : [{ path: '', message: 'must have exactly one of requestId and requestIds' }]
}
