import { z } from 'zod'
import { cancelIssues, listIssues } from '../input/check-input.ts'
import { cancelInputSchema, closeInputSchema, createInputSchema, idSchema, listInputSchema } from '../input/schemas.ts'
import { givenFields } from '../given-fields.ts'
import { sessionSchema } from './schemas.ts'
import { tool } from './tool.ts'

export const sessionsCreate = tool({
  name: 'sessions_create',
  title: 'Create a session',
  description: 'Opens a session with an agent, for several prompts in one conversation. Close it when it is over.',
  input: createInputSchema.extend({ workerId: idSchema.optional().describe('Old name of agentId.') }),
  output: sessionSchema,
  annotations: {},
  run: ({ bridge }, { workerId, ...input }) => bridge.createSession(givenFields({ ...input, agentId: input.agentId ?? workerId })),
})

export const sessionsStatus = tool({
  name: 'sessions_status',
  title: 'Session status',
  description: 'Says what a session is doing.',
  input: z.strictObject({ sessionId: idSchema }),
  output: sessionSchema,
  annotations: { readOnlyHint: true },
  run: ({ bridge }, input) => bridge.session(input.sessionId),
})

export const sessionsList = tool({
  name: 'sessions_list',
  title: 'List sessions',
  description: 'Lists your sessions, newest first.',
  input: listInputSchema,
  issues: listIssues,
  output: z.looseObject({ sessions: z.array(sessionSchema), nextCursor: z.string().optional() }),
  annotations: { readOnlyHint: true },
  run: ({ bridge }, input) => bridge.sessions(givenFields(input)),
})

export const sessionsCancel = tool({
  name: 'sessions_cancel',
  title: 'Cancel a request',
  description: 'Stops a running request, named by itself or by its session: give at least one of the two.',
  input: cancelInputSchema,
  issues: cancelIssues,
  output: z.looseObject({
    cancelled: z.boolean(),
    sessionId: idSchema,
    requestId: idSchema.optional(),
    settled: z.boolean(),
    reason: z.string().optional(),
  }),
  annotations: { idempotentHint: true },
  run: ({ bridge }, input) => bridge.cancel(givenFields(input)),
})

export const sessionsClose = tool({
  name: 'sessions_close',
  title: 'Close a session',
  description: 'Ends a session. A running request is cancelled first.',
  input: closeInputSchema,
  output: z.looseObject({ closed: z.literal(true), sessionId: idSchema, existed: z.boolean() }),
  annotations: { destructiveHint: true, idempotentHint: true },
  run: ({ bridge }, input) => bridge.close(givenFields(input)),
})
