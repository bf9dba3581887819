import type { Group } from '../codes.ts'
import type { Sign } from './sign.ts'

const requests: readonly Group[] = ['bad-request', 'forbidden', 'none']

const blocked = (phrase: RegExp, example: string): Sign => ({
  kind: 'content-blocked',
  groups: requests,
  phrase,
  example,
})

/** Input or output that the provider refuses because of its content. */
export const refusedContent: readonly Sign[] = [
  blocked(/usage (?:polic(?:y|ies)|guidelines)/i, 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.'),
  blocked(/content filtering policy/i, 'Output blocked by content filtering policy'),
  blocked(/content management policy/i, "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."),
  blocked(/our safety system/i, 'Your request was rejected as a result of our safety system.'),
  blocked(/block_?reason|prohibited_content/i, 'The prompt was blocked: blockReason PROHIBITED_CONTENT'),
]

/** Google limits the request size in bytes. */
export const refusedSize: readonly Sign[] = [
  {
    kind: 'payload-too-large',
    groups: ['bad-request', 'too-large'],
    phrase: /request payload size exceeds the limit/i,
    example: 'Request payload size exceeds the limit: 20971520 bytes.',
  },
]
