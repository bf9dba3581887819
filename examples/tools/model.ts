import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

/** Model without a key: checks the stock, compares prices, orders, and reports the result. */
const offline = scriptedModel(({ prompt }) => {
  const last = prompt.at(-1)
  const [result] = last?.role === 'tool' ? last.content.filter((part) => part.type === 'tool-result') : []
  if (!result) return { text: 'I look first.\n', toolCalls: [{ name: 'stock', input: { item: 'lamp' } }] }
  if (result.toolName === 'stock') return { toolCalls: [{ name: 'compare_prices', input: { item: 'lamp' } }] }
  if (result.toolName === 'compare_prices') return { toolCalls: [{ name: 'order', input: { item: 'lamp', price: 80 } }] }
  return { text: result.output.type === 'execution-denied' ? 'Nothing was ordered.' : 'Your lamp is on its way.' }
})

export const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
