import type { Clock } from '@bowline/llm'
import type { NoticeRecord } from '../contract/notices.ts'
import type { Webhook } from '../contract/records.ts'
import { guardedRequest, RefusedAddress, type GuardOptions } from './guarded-request.ts'
import { eventIdHeader, signatureHeader, signatureOf } from './webhook-signature.ts'

const answerMs = 10_000
/** Reason of an abort because the receiver did not answer. */
const late = 'late'

/** Returns the body, which is the same at each attempt. */
function bodyOf({ id, type, n, at, body }: Pick<NoticeRecord, 'id' | 'type' | 'n' | 'at' | 'body'>): string {
  return JSON.stringify({ id, type, n, at, ...body })
}

/**
 * Posts a notice once. Returns undefined if the receiver accepted it, otherwise why the attempt failed, without content. The signal
 * must not be aborted yet.
 */
export async function postWebhook(
  webhook: Webhook,
  notice: NoticeRecord,
  { clock, guard, abortSignal }: { readonly clock: Clock; readonly guard: GuardOptions; readonly abortSignal: AbortSignal },
): Promise<string | undefined> {
  // The signal of the caller lives as long as the runtime, so nothing of this request may stay on it.
  const ending = new AbortController()
  const end = (): void => ending.abort()
  const cancel = clock.setTimer(clock.now() + answerMs, () => ending.abort(late), { hold: true })
  abortSignal.addEventListener('abort', end)
  const body = bodyOf(notice)
  const secrets = typeof webhook.secret === 'string' ? [webhook.secret] : webhook.secret
  const headers = {
    'user-agent': 'bowline',
    ...webhook.headers,
    'content-type': 'application/json',
    [eventIdHeader]: notice.id,
    [signatureHeader]: signatureOf(body, secrets, clock.now()),
  }
  try {
    const posted = guardedRequest(new URL(webhook.url), { method: 'POST', headers, body, signal: ending.signal }, guard)
    // A name lookup cannot be aborted, but need not be awaited.
    const response = await Promise.race([posted, aborted(ending.signal)])
    response.destroy()
    const { statusCode = 0 } = response
    return statusCode >= 200 && statusCode <= 299 ? undefined : `the receiver answered ${statusCode}`
  } catch (error) {
    if (ending.signal.reason === late) return `the receiver did not answer within ${answerMs} ms`
    if (error instanceof RefusedAddress) return `the address is refused: ${reasons[error.refusal]}`
    return `the receiver cannot be reached: ${error instanceof Error && 'code' in error ? String(error.code) : 'the connection failed'}`
  } finally {
    cancel()
    abortSignal.removeEventListener('abort', end)
  }
}

const reasons = { protocol: 'its protocol is not allowed', user: 'it names a user', 'not-public': 'it is not a public address' } as const

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }))
}
