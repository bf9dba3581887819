// Agents that both servers serve. Every export that is an agent is served.

import { openai } from '@ai-sdk/openai'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'

const offline = scriptedModel(() => ({ text: 'Hello from a server that Restate has chosen.', chunk: 6 }))

export const assistant = defineAgent({ name: 'assistant', model: process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline })
