import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const search = defineTool({
  name: 'search',
  description: 'Search the archive',
  inputSchema: z.object({ query: z.string() }),
  effect: 'pure',
  async *execute({ query }) {
    yield 'reading the index'
    return { output: `3 hits for ${query}`, details: { hits: 3 } }
  },
})
const model = scriptedModel([{ toolCalls: [{ name: 'search', input: { query: 'knots' } }] }, { text: 'Found 3.' }])
const run = defineAgent({ model, tools: [search] }).run('Look for knots')
for await (const event of run) {
  if (event.type === 'tool-execution-delta') console.log(event.delta) // → reading the index
  if (event.type === 'tool-execution-end') console.log(event.message.output) // → { type: 'text', value: '3 hits for knots' }
}
console.log((await run.result()).text) // → Found 3.

export {}
