import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

const model = scriptedModel([{ text: 'Nice to meet you, Ada.' }, { text: 'Your name is Ada.' }])
const agents = [defineAgent({ name: 'assistant', model })]
for (const question of ['I am Ada.', 'Who am I?']) {
  const runtime = createRuntime({ agents, store: sqliteStore({ file: '.bowline/agent.db' }) })
  await runtime.start() // continues the runs that a dead process left
  const run = await runtime.session('room:1').send(question)
  console.log((await run.result()).text) // → Nice to meet you, Ada.
  await runtime.stop()
}
// → Your name is Ada.

export {}
