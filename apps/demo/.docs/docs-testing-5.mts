import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore } from '@bowline/sessions/testing'

const store = faultyStore(memoryStore(), [{ of: 'commit', times: 1, fault: 'answer-lost' }]) // stored, but the runtime is not told
const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Still here.' }]) })], store })
console.log((await (await runtime.session('room:1').send('Hi')).result()).text) // → Still here.
await runtime.stop()

export {}
