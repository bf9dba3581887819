import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const weather = defineTool({
  name: 'get_weather', description: 'Returns the weather in a city.', inputSchema: z.object({ city: z.string() }),
  effect: 'pure', execute: ({ city }) => `Sunny in ${city}.`,
})
const model = scriptedModel([{ toolCalls: [{ name: 'get_weather', input: { city: 'Oslo' } }] }, { text: 'It is sunny.' }])
const agent = defineAgent({ name: 'assistant', model, tools: [weather] })

const run = agent.run('What is the weather in Oslo?')
for await (const event of run) if (event.type === 'tool-execution-end') console.log(event.message.toolName) // → get_weather
const { status, text } = await run.result()
console.log(status, text) // → completed It is sunny.

export {}
