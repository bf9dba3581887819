import type { Intent } from './intent.ts'

const overloaded = 503

/** Fails on every attempt. Only another model helps. */
export const fail: Intent = {
  name: 'fail',
  keyWords: /\bfail\b/i,
  answer({ isSpare }) {
    if (isSpare)
      return [
        {
          type: 'text',
          text: 'The first model failed, was asked again, and failed for good. I am the **spare model**, and this answer is mine.',
        },
      ]
    return [
      { type: 'text', text: 'I begin to answer, and then' },
      { type: 'failure', status: overloaded, message: 'The offline provider pretends to be overloaded.' },
    ]
  },
}

const delayMs = 1500

/** Answers so slowly that the turn reaches its time limit. */
export const slow: Intent = {
  name: 'slow',
  keyWords: /\bslow(ly)?\b/i,
  answer: () => [
    {
      type: 'text',
      text: 'I take my time: a word now, a word then. Stop me, or wait until the time of the turn is over. Neither the tide nor I can be made to hurry. Still here? Then that was all.',
      delayMs,
    },
  ],
}
