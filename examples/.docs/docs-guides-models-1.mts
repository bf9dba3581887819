import { createModels, describeModel, streamMessage } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'

// In your program: import { openai } from '@ai-sdk/openai' and { anthropic } from '@ai-sdk/anthropic'.
const openai = { languageModel: (modelId: string) => scriptedModel([], { modelId }) }
const anthropic = { languageModel: (modelId: string) => scriptedModel([{ text: 'Slowly.' }], { modelId }) }

const models = createModels({
  providers: { openai, anthropic: { provider: anthropic, defaults: { maxTokens: 4096 } } },
  default: 'openai:gpt-5',
  aliases: { careful: 'anthropic:claude-opus-5' },
  models: { 'openai:gpt-5*': { contextWindow: 400_000, price: { input: '1.25', output: '10', cacheRead: '0.125' } } },
})
const messages = [{ role: 'user' as const, content: 'How do I tie a knot?' }]
const answer = await streamMessage({ models, model: 'careful', messages, runtimeParams: { temperature: 0.2 } }).result()
console.log(answer.modelId, answer.content) // → claude-opus-5 [ { type: 'text', text: 'Slowly.' } ]
console.log(models.info('openai:gpt-5-mini').contextWindow) // → 400000
console.log(describeModel({ model: 'careful', models }).modelId) // → claude-opus-5

export {}
