import { z } from 'zod'
import { cancelIssues, listIssues } from '../input/check-input.ts'
import { cancelInputSchema, closeInputSchema, createInputSchema, idSchema, listInputSchema } from '../input/schemas.ts'
import { givenFields } from '../given-fields.ts'
import { sessionSchema } from './schemas.ts'
import { looks, tool } from './tool.ts'

export const sessionsCreate = tool({
  name: 'sessions_create',
  title: 'Create a session',
  description:
    'Opens a session with an agent, for several prompts in one conversation; then call sessions_prompt. For one prompt alone use tasks_delegate. Close it with sessions_close when it is over.',
  input: createInputSchema.extend({ workerId: idSchema.optional().describe('Old name of agentId.') }),
  output: sessionSchema,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  run: ({ bridge }, { workerId, ...input }) => bridge.createSession(givenFields({ ...input, agentId: input.agentId ?? workerId })),
})

export const sessionsStatus = tool({
  name: 'sessions_status',
  title: 'Session status',
  description: 'Says what a session is doing. For the answer to a prompt use tasks_status.',
  input: z.strictObject({ sessionId: idSchema.describe('The session to look at.') }),
  output: sessionSchema,
  annotations: looks,
  run: ({ bridge }, input) => bridge.session(input.sessionId),
})

export const sessionsList = tool({
  name: 'sessions_list',
  title: 'List sessions',
  description: 'Lists your sessions, newest first.',
  input: listInputSchema,
  issues: listIssues,
  output: z.looseObject({
    sessions: z.array(sessionSchema).describe('Newest first.'),
    nextCursor: z.string().optional().describe('There are more: give it as cursor.'),
  }),
  annotations: looks,
  run: ({ bridge }, input) => bridge.sessions(givenFields(input)),
})

export const sessionsCancel = tool({
  name: 'sessions_cancel',
  title: 'Cancel a request',
  description:
    'Stops a running request, named by its requestId or by its session: give at least one of the two. The work cannot go on afterwards.',
  input: cancelInputSchema,
  issues: cancelIssues,
  output: z.looseObject({
    cancelled: z.boolean().describe('True if this call stopped it.'),
    sessionId: z.string().describe('The session of the request.'),
    requestId: z.string().optional().describe('The request; absent if none was running.'),
    settled: z.boolean().describe('False: the agent did not stop in time, and its session takes no more prompts.'),
    reason: z.string().optional().describe('Why nothing was cancelled: not-running or elsewhere.'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  run: ({ bridge }, input) => bridge.cancel(givenFields(input)),
})

export const sessionsClose = tool({
  name: 'sessions_close',
  title: 'Close a session',
  description: 'Ends a session. A running request is cancelled first.',
  input: closeInputSchema,
  output: z.looseObject({
    closed: z.literal(true).describe('The session is closed.'),
    sessionId: z.string().describe('The session.'),
    existed: z.boolean().describe('True if this call closed it.'),
  }),
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  run: ({ bridge }, input) => bridge.close(givenFields(input)),
})
