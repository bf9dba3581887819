import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

/** Model without a key: an eager seller that tries to take the order at once and learns that this is not allowed yet. */
const offline = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  if (last?.role === 'tool') {
    const [result] = last.content.filter((part) => part.type === 'tool-result')
    if (result?.toolName === 'take_order' && result.output.type !== 'text') return { text: 'How much do you need, and for what boat?' }
    return { text: result?.output.type === 'text' ? result.output.value : 'Done.' }
  }
  const said = JSON.stringify(last?.content)
  if (said.includes('metres')) return { toolCalls: [{ name: 'save_need', input: { boat: 'dinghy', metres: 10 } }] }
  if (said.includes('cost')) return { toolCalls: [{ name: 'quote', input: { metres: 10 } }] }
  return { toolCalls: [{ name: 'take_order', input: { sum: 20 } }] }
})

export const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
