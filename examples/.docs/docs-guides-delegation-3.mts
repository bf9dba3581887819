import { createOpenAI, openai } from '@ai-sdk/openai'
import { multiProviderAgent } from '@bowline/bridge'
import { createModels } from '@bowline/llm'

const local = createOpenAI({ baseURL: 'http://127.0.0.1:11434/v1', apiKey: 'none' })
export const talker = multiProviderAgent({
  id: 'talker',
  models: createModels({ providers: { openai, local } }),
  providers: [
    { id: 'openai', models: ['gpt-5'] }, // the first one is the default; others are refused unless `allowOtherModels`
    { id: 'local', models: ['qwen3'], defaults: { maxTokens: 4096 } },
  ],
  defaultProviderId: 'openai',
  instructions: 'Answer in one sentence.',
})

export {}
