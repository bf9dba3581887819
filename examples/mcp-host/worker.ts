// The worker: an agent in its own process, which speaks the Agent Client Protocol on stdin and stdout.

import { openai } from '@ai-sdk/openai'
import { serveWorker } from '@bowline/bridge/worker'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'

const offline = scriptedModel(() => ({ text: 'The text is short. Nothing is wrong with it.', chunk: 8 }))

serveWorker(
  defineAgent({
    name: 'reviewer',
    description: 'Reads a text and says what is wrong with it',
    model: process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline,
  }),
)
