import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/sessions/postgres'

const connectionString = process.env.DATABASE_URL ?? 'postgresql://user:password@host:5432/database'
const agents = [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Done over there.' }]) })]
const web = createRuntime({ agents, store: postgresStore({ connectionString }), concurrency: 0 })
const store = postgresStore({ connectionString })
const worker = createRuntime({ agents, store })
await Promise.all([web.start(), worker.start()]) // the tables are made by the first one

const run = await web.session('tenant:acme:ticket:1').send('Hi')
for await (const event of run) if (event.type === 'settled') break
console.log((await run.result()).text) // → Done over there.
const { processes, waiting, warnings } = await store.check()
console.log(processes, waiting, warnings) // → 2 0 []
await web.stop()
await worker.stop()

export {}
