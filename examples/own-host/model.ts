import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

/** Model without a key: asks the supplier, and then tells the price. */
const offline = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === 'tool' ? { text: 'A lamp costs 80.' } : { toolCalls: [{ name: 'ask-supplier', input: { item: 'lamp' } }] },
)

export const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
