import { openai } from '@ai-sdk/openai' // npm install @ai-sdk/openai
import { defineAgent } from '@bowline/agent-loop'

export const assistant = defineAgent({ name: 'assistant', model: openai('gpt-5') })

export {}
