import { z } from '@hono/zod-openapi'
import type { NoticeList, NoticeView } from '@bowline/client'
import { jsonValue } from './fields.ts'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

const maxNotices = 200

export const noticesQuery = z.strictObject({
  state: optional(z.enum(['pending', 'delivered', 'failed'])),
  limit: z.coerce.number().int().min(1).max(maxNotices).default(50),
  cursor: optional(z.string().min(1).max(1024)),
})

export const noticeView = sameAs<NoticeView>()(
  z.strictObject({
    id: z.string(),
    n: z.int(),
    hook: z.string(),
    type: z.enum(['settled', 'awaiting-answer', 'needs-recovery', 'budget', 'expired']),
    at: z.int(),
    state: z.enum(['pending', 'delivered', 'failed']),
    attempts: z.int(),
    dueAt: optional(z.int()),
    settledAt: optional(z.int()),
    error: optional(z.string()),
    body: z.record(z.string(), jsonValue),
  }),
).openapi('NoticeView')

export const noticeList = sameAs<NoticeList>()(z.strictObject({ notices: z.array(noticeView), nextCursor: optional(z.string()) })).openapi(
  'NoticeList',
)
