import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

const online = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : undefined

/** Model without a key: uses 600 tokens and some time for each chapter. */
export const readerModel = online ?? scriptedModel(() => ({ text: 'It is about knots.', delayMs: 200, usage: { input: 100, output: 500 } }))

const chapters = [1, 2, 3, 4].map((chapter) => ({ name: 'delegate_to_reader', input: { prompt: `Read chapter ${chapter}.` } }))

/** Model without a key: delegates four chapters at once, then answers. */
const offline = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === 'tool' ? { text: 'It is about knots, as far as I could read.' } : { toolCalls: chapters },
)

export const bossModel = online ?? offline
