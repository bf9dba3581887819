import { z } from '@hono/zod-openapi'
import type { RequestList, RequestView } from '@bowline/client'
import { jsonObject } from './fields.ts'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

const maxRequests = 200

export const requestsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(maxRequests).default(50),
  cursor: optional(z.string().min(1).max(1024)),
})

const summary = {
  id: z.string(),
  purpose: z.enum(['answer', 'compaction', 'branch-summary']),
  runId: z.string(),
  turn: z.int(),
  step: z.int(),
  attempt: z.int(),
  at: z.int(),
  model: z.strictObject({ provider: z.string(), modelId: z.string() }),
  messageCount: z.int(),
  sharedCount: z.int(),
  toolCount: z.int(),
}

export const requestList = sameAs<RequestList>()(
  z.strictObject({ requests: z.array(z.strictObject(summary)), nextCursor: optional(z.string()) }),
).openapi('RequestList')

export const requestView = sameAs<RequestView>()(
  z.strictObject({
    ...summary,
    prompt: z.array(jsonObject),
    tools: z.array(jsonObject),
    settings: jsonObject,
    omitted: optional(z.literal(true)),
  }),
).openapi('RequestView')
