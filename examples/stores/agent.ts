import { openai } from '@ai-sdk/openai'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'

/** Model without a key: counts the messages of the user in this conversation. */
const offline = scriptedModel(({ prompt }) => ({ text: `You have sent ${prompt.filter(({ role }) => role === 'user').length} messages.` }))

/** The agent does not depend on a store. */
export const counter = defineAgent({
  name: 'counter',
  model: process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline,
  instructions: 'Say how many messages the user has sent.',
})
