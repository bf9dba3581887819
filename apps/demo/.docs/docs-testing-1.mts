import assert from 'node:assert/strict'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  effect: 'pure',
  execute: ({ city }) => `Sunny in ${city}.`,
})
const model = scriptedModel([
  { toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] },
  { text: 'It is sunny.', expect: ({ prompt }) => assert.equal(prompt.at(-1)?.role, 'tool') },
])
const { text, steps, status } = await defineAgent({ model, tools: [weather] }).run('How is Oslo?').result()
model.assertDone()
console.log(status, steps, text) // → completed 2 It is sunny.
console.log(model.calls[0]?.tools?.map(({ name }) => name)) // → [ 'weather' ]

export {}
