import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'

const store = memoryStore() // on a host: postgresStore({ connectionString, listen: false, poolSize: 1 })
const agents = [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Done.' }]) })]

/** One request: a runtime lives as long as the function. */
async function request(budgetMs: number, text?: string): Promise<string> {
  const runtime = createRuntime({ agents, store, timers: false, onWake: () => {} }) // onWake(atMs) sets the alarm of the host
  if (text !== undefined) await runtime.session('room:1').send(text)
  const { ran, left } = await runtime.drain({ untilMs: Date.now() + budgetMs })
  return `ran ${ran}, left ${left}`
}
console.log(await request(0, 'Hi')) // → ran 0, left 1
console.log(await request(5_000)) // → ran 1, left 0

export {}
