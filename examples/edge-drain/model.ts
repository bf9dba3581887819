import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

/** Model without a key: asks the supplier, and uses the list price if no answer comes. */
const offline = scriptedModel(({ prompt }) => {
  const wasAsked = prompt.some(({ role }) => role === 'tool')
  return wasAsked ? { text: 'No answer. By the list it costs 80.' } : { toolCalls: [{ name: 'ask-supplier', input: { item: 'lamp' } }] }
})

export const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
