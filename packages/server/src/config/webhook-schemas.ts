import { z } from 'zod'
import { optional } from '../wire/optional.ts'
import { sameAs } from '../wire/same.ts'
import type { ServerConfig } from './server-config.ts'

const leastCharacters = 16

function checkSecret(value: unknown, context: z.RefinementCtx): void {
  const secrets: readonly unknown[] = Array.isArray(value) ? value : [value]
  const isWhole = secrets.length > 0 && secrets.every((each) => typeof each === 'string' && each.length >= leastCharacters)
  if (!isWhole) context.addIssue({ code: 'custom', message: `must be a text of at least ${leastCharacters} characters, or a list of such` })
}

/** Schema of a webhook. The runtime checks the address and everything that depends on `webhooks`. */
const webhook = z.strictObject({
  url: z.string('must be an address'),
  events: z.array(z.enum(['settled', 'awaiting-answer', 'needs-recovery', 'budget', 'expired'])).min(1, 'must name at least one event'),
  secret: z.unknown().superRefine(checkSecret),
  headers: optional(z.record(z.string(), z.string())),
  retentionMs: optional(z.int().min(1)),
  name: optional(z.string()),
})

/** Reports each fault by itself, and not only that no variant of a union matches. */
const notify = z.unknown().superRefine((value, context) => {
  const result = (Array.isArray(value) ? z.array(webhook) : webhook).safeParse(value)
  if (!result.success) result.error.issues.forEach((issue) => context.addIssue({ ...issue }))
}) as z.ZodType<NonNullable<ServerConfig['notify']>>

/** Webhook settings that only a file can have. */
export const webhookSchemas = {
  notify: optional(notify),
  webhooks: optional(
    sameAs<NonNullable<ServerConfig['webhooks']>>()(
      z.strictObject({ http: optional(z.boolean()), allow: optional(z.array(z.string())), ca: optional(z.array(z.string())) }),
    ),
  ),
}
