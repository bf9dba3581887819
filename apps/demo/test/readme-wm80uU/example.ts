import { openai } from '@ai-sdk/openai'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { z } from 'zod'

const weather = defineTool({
  name: 'get_weather',
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  effect: 'pure',
  execute: ({ city }) => `Sunny in ${city}.`,
})
const agent = defineAgent({ name: 'assistant', model: openai('gpt-5.1'), tools: [weather] })
const runtime = createRuntime({ agents: [agent], store: sqliteStore({ file: '.bowline/example.db' }) })
await runtime.start()

const run = await runtime.session('room:1').send('What is the weather in Oslo?')
for await (const event of run) if (event.type === 'text-delta') process.stdout.write(event.delta)
console.log('\n' + (await run.result()).status)
await runtime.stop()
