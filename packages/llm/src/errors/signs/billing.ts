import type { Group } from '../codes.ts'
import type { Sign } from './sign.ts'

const billed: readonly Group[] = ['rate', 'payment', 'bad-request', 'forbidden', 'none']

const billing = (phrase: RegExp, example: string, more: Partial<Sign> = {}): Sign => ({
  kind: 'billing',
  groups: billed,
  phrase,
  example,
  ...more,
})

/** Google: a free tier that does not include the model. */
const quotaOfNothing = /\blimit: 0(?!\d|\.\d)/i

export function isQuotaOfNothing(message: string): boolean {
  return quotaOfNothing.test(message)
}

/** Money or quota is exhausted, and waiting does not help. */
export const unpaid: readonly Sign[] = [
  billing(/credit balance is too low/i, 'Your credit balance is too low to access the Anthropic API.'),
  // Anthropic; with other statuses the words may refer to a limit per minute
  billing(/\busage limits\b/i, 'You have reached your specified API usage limits. You will regain access on 2030-01-01 at 00:00 UTC.', {
    groups: ['bad-request'],
  }),
  billing(quotaOfNothing, 'Quota exceeded for metric: generate_content_free_tier_requests, limit: 0\nPlease retry in 34s.', {
    groups: ['rate'],
  }),
  // Google also says this for an exhausted minute, but then adds the delay.
  billing(/exceeded your current quota/i, 'You exceeded your current quota, please check your plan and billing details.', {
    unless: /retry in \d/i,
  }),
  billing(/insufficient (?:credits?|balance|funds|quota)/i, 'Insufficient Balance'),
  billing(/credits? (?:are |is |have been |has been |balance )*(?:exhausted|depleted)/i, 'Your prepayment credits are depleted.'),
  billing(/used all available credits/i, 'Your team has used all available credits or reached its monthly limit.'),
  billing(/payment required/i, 'Payment Required'),
  billing(
    /requires more credits/i,
    'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1000.',
  ),
]
