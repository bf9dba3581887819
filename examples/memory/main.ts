// An agent that remembers its user from one conversation to the next. Start it twice: what the first process was told, the
// second one knows.
//
//   npm install @bowline/sessions @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   node main.ts "My cat is called Mio." && node main.ts "What is my cat called?"

import { defineAgent } from '@bowline/agent-loop'
import { createMemories, memory } from '@bowline/sessions'
import { sqliteStateStore } from '@bowline/sessions/sqlite'
import { model } from './model.ts'

const store = sqliteStateStore({ file: '.bowline/memory.db' })
const scope = { user: 'ada' } // notes of one scope are never seen from another

// The extension brings the tools memory_save, memory_search and memory_forget, and puts the newest notes into the prompt.
const agent = defineAgent({ name: 'assistant', model, instructions: 'Save what the user tells you about themselves.', extensions: [memory({ store, scope })] })

const run = agent.run(process.argv[2] ?? 'What is my cat called?')
for await (const event of run) {
  if (event.type === 'text-delta') process.stdout.write(event.delta)
  if (event.type === 'tool-execution-end') console.log(`[${event.message.toolName}] ${event.message.status}`)
}
const { error } = await run.result()
console.log()

// For a page of settings, an export or a deletion: the notes without an agent.
const memories = createMemories({ store })
for (const { key, text } of (await memories.list(scope)).items) console.log(`note ${key}: ${text}`)
await store.close()
if (error) throw new Error(error.message)
