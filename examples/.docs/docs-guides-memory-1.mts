import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { memory, memoryStateStore } from '@bowline/sessions'

const store = memoryStateStore() // or that of SQLite, Postgres, Redis, a KV service; or the store of a runtime
const save = { toolCalls: [{ name: 'memory_save', input: { key: 'pet', text: 'Has a cat named Mio.' } }] }
const model = scriptedModel([save, { text: 'Noted.' }, { text: 'Mio.' }])
const agent = defineAgent({ instructions: 'Be brief.', model, extensions: [memory({ store, scope: { user: 'alice' } })] })
await agent.run('My cat is Mio').result()
await agent.run('What is my cat called?').result()
console.log(String(model.calls[2]?.prompt[0]?.content).split('\n').at(-1)) // → - pet: Has a cat named Mio.

export {}
