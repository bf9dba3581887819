import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const weather = defineTool({
  name: 'weather',
  description: 'The weather in a city',
  inputSchema: z.object({ city: z.string() }),
  effect: 'pure',
  execute: ({ city }) => ({ city, celsius: 7 }),
})
const model = scriptedModel([{ toolCalls: [{ name: 'weather', input: { city: 'Oslo' } }] }, { text: 'Cold.' }])
const agent = defineAgent({ model, tools: [weather] })
for await (const event of agent.run('How is Oslo?')) {
  if (event.type === 'tool-execution-start' && event.toolName === 'weather') console.log(event.input.city.toUpperCase()) // → OSLO
  if (event.type !== 'tool-execution-end') continue
  const { toolName, output } = event.message
  if (toolName === 'weather' && output.type === 'json') console.log(output.value.celsius.toFixed(1)) // → 7.0
}

export {}
