import { z } from '@hono/zod-openapi'
import type { ScheduleList, ScheduleRequest, ScheduleView } from '@bowline/client'
import { jsonValue, userInput } from './fields.ts'
import { optional } from './optional.ts'
import { sameAs } from './same.ts'

const shortestMs = 60_000
const maxIdCharacters = 100
const maxRuleCharacters = 200

const rule = {
  cron: optional(z.string().min(1).max(maxRuleCharacters)),
  timeZone: optional(z.string().min(1).max(maxRuleCharacters)),
  every: optional(z.int().min(shortestMs)),
  at: optional(z.int().min(0)),
}
const onMissed = z.enum(['once', 'skip', 'all'])
const onBusy = z.enum(['queue', 'skip'])

export const scheduleRequest = sameAs<ScheduleRequest>()(
  z.strictObject({
    ...rule,
    id: optional(z.string().min(1).max(maxIdCharacters)),
    input: userInput,
    onMissed: optional(onMissed),
    onBusy: optional(onBusy),
  }),
).openapi('ScheduleRequest')

export const scheduleView = sameAs<ScheduleView>()(
  z.strictObject({
    ...rule,
    id: z.string(),
    status: z.enum(['active', 'paused']),
    input: jsonValue,
    onMissed,
    onBusy,
    nextAt: z.int().nullable(),
    last: optional(z.strictObject({ dueAt: z.int(), runId: z.string() })),
    createdAt: z.int(),
  }),
).openapi('ScheduleView')

export const scheduleList = sameAs<ScheduleList>()(z.strictObject({ schedules: z.array(scheduleView) })).openapi('ScheduleList')
