// An agent that remembers its user between conversations. Start it twice: the second process knows the notes of the first one.
//
//   npm install @bowline/sessions @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   node main.ts "My cat is called Mio." && node main.ts "What is my cat called?"

import { defineAgent } from '@bowline/agent-loop'
import { createMemories, memory } from '@bowline/sessions'
import { sqliteStateStore } from '@bowline/sessions/sqlite'
import { model } from './model.ts'

const store = sqliteStateStore({ file: '.bowline/memory.db' })
const scope = { user: 'ada' } // notes of one scope are not visible in another

// The extension adds the tools memory_save, memory_search and memory_forget, and puts the newest notes into the prompt.
const agent = defineAgent({
  name: 'assistant',
  model,
  instructions: 'Save what the user tells you about themselves.',
  extensions: [memory({ store, scope })],
})

const run = agent.run(process.argv[2] ?? 'What is my cat called?')
for await (const event of run) {
  if (event.type === 'text-delta') process.stdout.write(event.delta)
  if (event.type === 'tool-execution-end') console.log(`[${event.message.toolName}] ${event.message.status}`)
}
const { error } = await run.result()
console.log()

// Notes without an agent, for a settings page, an export or a deletion.
const memories = createMemories({ store })
for (const { key, text } of (await memories.list(scope)).items) console.log(`note ${key}: ${text}`)
await store.close()
if (error) throw new Error(error.message)
