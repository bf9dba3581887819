import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

const agents = [defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Hello.' }]) })]
const old = createRuntime({ agents }) // in memory
await (await old.session('room:1').send('Hi')).result()
const next = createRuntime({ agents, store: sqliteStore({ file: '.bowline/moved.db' }) })
const copy = await next.importSession(old.session('room:1').export({ allBranches: true }))
console.log(copy.key, (await copy.messages()).items.length) // → room:1 2
await old.stop()
await next.stop()

export {}
