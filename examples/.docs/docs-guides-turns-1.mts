import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const slow = defineTool({
  name: 'slow',
  description: 'Takes its time',
  inputSchema: z.object({}),
  execute: async (_input, { steer }) => {
    await steer('Make it short.')
    return 'done'
  },
})
const model = scriptedModel([{ toolCalls: [{ name: 'slow', input: {} }] }, { text: 'Short.' }, { text: 'Next.' }])
const run = defineAgent({ model, tools: [slow] }).run('Tell me everything')
await run.followUp('And then?')
for await (const event of run) {
  if (event.type === 'runtime-input') console.log(event.placement, event.message?.content) // → step-end Make it short.
  if (event.type === 'turn-end') console.log(event.turn, event.status) // → 1 completed
} // → 2 completed

export {}
