// Background work: two subagents look something up after the agent has already answered. When both are done, the runtime notifies
// the agent, which reads their results and reports.
//
//   npm install @bowline/sessions @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   node main.ts

import { defineAgent } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { bossModel, helperModel } from './model.ts'

const trains = defineAgent({ name: 'trains', description: 'Knows all trains', model: helperModel('The train leaves at 9:04.', 300) })
const hotels = defineAgent({ name: 'hotels', description: 'Knows all hotels', model: helperModel('The Anchor has a free room.', 600) })

const agent = defineAgent({
  name: 'planner',
  model: bossModel,
  instructions:
    'Hand research to your subagents with run_in_background, and say at once that you did. Report when you are told that they are done.',
  subagents: [trains, hotels], // adds the tools delegate_to_trains and delegate_to_hotels
})

// With `sqliteStore` the background work also continues after a crash.
const runtime = createRuntime({ agents: [agent], store: memoryStore() })
await runtime.start()

const session = runtime.session('user:ada')
await session.send('Plan my trip to Bergen.')

// The report needs no input of a user: the runtime tells the agent, in a turn of its own or in the one that is still open.
const names = new Map<string, string>()
let atWork = 0
let isTold = false
for await (const event of session.events()) {
  if (event.type === 'child-start') {
    names.set(event.childRunId, event.subagent)
    atWork++
    console.log(`[${event.subagent}] started`)
  }
  if (event.type === 'child-end') {
    atWork--
    console.log(`[${names.get(event.childRunId)}] ${event.status}`)
  }
  if (event.type === 'runtime-input') isTold = atWork === 0
  if (event.type === 'message-end' && event.message.role === 'assistant') {
    for (const part of event.message.content) if (part.type === 'text') console.log(`planner: ${part.text}`)
  }
  if (event.type === 'settled' && isTold) break
}
await runtime.stop()
