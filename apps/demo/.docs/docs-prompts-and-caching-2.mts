import { createMemoryJournal, defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const tool = (description: string) => defineTool({ name: 'search', description, inputSchema: z.object({}), execute: () => 'none' })
const journal = createMemoryJournal()
const turns = [
  { user: 'Ada', description: 'Searches.' },
  { user: 'Ada', description: 'Searches.' },
  { user: 'Grace', description: 'Searches.' },
  { user: 'Grace', description: 'Searches the archive.' },
]
for (const { user, description } of turns) {
  const agent = defineAgent({ model: scriptedModel([{ text: 'Hello.' }]), instructions: { system: 'Be brief.', user }, tools: [tool(description)] })
  const misses = []
  for await (const event of agent.run('Hi', { journal })) if (event.type === 'usage') misses.push(event.cacheMiss)
  console.log(misses)
}
// → []
// → []
// → [ { part: 'section', name: 'user' } ]
// → [ { part: 'tool', name: 'search' } ]

export {}
