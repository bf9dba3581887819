import { createHmac, timingSafeEqual } from 'node:crypto'
import { systemClock, type Clock } from '@bowline/llm'
import { isRecord } from '@bowline/llm/arguments'
import { inputChecks } from '../arguments.ts'

export const signatureHeader = 'bowline-signature'
export const eventIdHeader = 'bowline-event-id'

/** Returns the value of the header: the time of signing (Unix seconds) and one signature per secret. */
export function signatureOf(body: string, secrets: readonly string[], atMs: number): string {
  const time = Math.floor(atMs / 1000)
  return [`t=${time}`, ...secrets.map((secret) => `v1=${hmacOf(secret, time, body).toString('hex')}`)].join(',')
}

function hmacOf(secret: string, time: number, body: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${time}.`).update(body).digest()
}

/** Time tolerance and clock of a webhook verification. */
export interface VerifyWebhookOptions {
  /** Maximum difference between the time of the signature and now, in milliseconds. Default 300,000. */
  readonly toleranceMs?: number
  /** Clock to compare with. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>
}

interface OfFetch {
  get(name: string): string | null
}

/** Headers of a request, from `fetch` or from Node. */
export type WebhookHeaders = OfFetch | Readonly<Record<string, string | readonly string[] | undefined>>

const checkOptions = inputChecks.optionalRecord<VerifyWebhookOptions>({
  toleranceMs: inputChecks.whole(0),
  clock: inputChecks.methods('now'),
})
const defaultToleranceMs = 300_000
const mostSignatures = 16

/**
 * Returns whether a runtime with this secret has signed the webhook within `toleranceMs`. `body` is the received text before
 * parsing. Compares in constant time. The same `bowline-event-id` may arrive more than once.
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string | readonly string[],
  options: VerifyWebhookOptions = {},
): boolean {
  inputChecks.checkRequired('headers', headers, 'the headers of a request', isRecord)
  inputChecks.checkRequired(
    'body',
    body,
    'the body as it was received, a text or bytes',
    (value) => typeof value === 'string' || value instanceof Uint8Array,
  )
  inputChecks.checkRequired('secret', secret, 'a secret, or a list of secrets', isSecret)
  checkOptions('verifyWebhook.options', options)
  const { toleranceMs = defaultToleranceMs, clock = systemClock } = options
  const fields = (headerIn(headers) ?? '')
    .split(',')
    .slice(0, mostSignatures)
    .map((field) => field.trim().split('='))
  const time = Number(fields.find(([name]) => name === 't')?.[1] ?? Number.NaN)
  if (!Number.isSafeInteger(time) || Math.abs(clock.now() - time * 1000) > toleranceMs) return false
  const given = fields.flatMap(([name, value = '']) => (name === 'v1' ? [Buffer.from(value, 'hex')] : []))
  const secrets = typeof secret === 'string' ? [secret] : secret
  const expected = secrets.map((each) => hmacOf(each, time, body))
  // Compares all of them, even after a match, so that the time is constant.
  return expected.flatMap((each) => given.map((other) => other.length === each.length && timingSafeEqual(other, each))).includes(true)
}

function isSecret(value: unknown): boolean {
  const secrets: readonly unknown[] = Array.isArray(value) ? value : [value]
  return secrets.length > 0 && secrets.every((each) => typeof each === 'string' && each !== '')
}

function headerIn(headers: WebhookHeaders): string | undefined {
  if (isOfFetch(headers)) return headers.get(signatureHeader) ?? undefined
  const [, value] = Object.entries(headers).find(([name]) => name.toLowerCase() === signatureHeader) ?? []
  return typeof value === 'string' ? value : value?.[0]
}

function isOfFetch(headers: WebhookHeaders): headers is OfFetch {
  return typeof headers['get'] === 'function'
}
