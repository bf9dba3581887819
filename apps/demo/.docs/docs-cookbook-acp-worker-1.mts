import { openai } from '@ai-sdk/openai'
import { defineAgent } from '@bowline/agent-loop'
import { serveWorker } from '@bowline/bridge/worker'

serveWorker(defineAgent({ name: 'reviewer', description: 'Finds mistakes in a text.', model: openai('gpt-5.1') }))

export {}
