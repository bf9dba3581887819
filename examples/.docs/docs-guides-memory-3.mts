import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createMemories, createRuntime, memory } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

const store = sqliteStore({ file: '.bowline/data.db' })
// The key of the session names the tenant. Its metadata names the user here: over HTTP a client chooses that.
const notes = memory({ store, scope: ({ tenant, context }) => ({ tenant, user: (context as { user?: string }).user }) })
const save = { toolCalls: [{ id: '1', name: 'memory_save', input: { key: 'colour', text: 'Likes blue.' } }] }
const model = scriptedModel([save, { text: 'Noted.' }, { text: 'Blue.' }])
const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model, extensions: [notes] })], store })
await runtime.start()

const session = (key: string) => runtime.session(key, { metadata: { user: 'alice' } })
await (await session('tenant:acme:chat:1').send('I like blue')).result()
await (await session('tenant:acme:chat:2').send('Which colour do I like?')).result()
console.log(String(model.calls[2]?.prompt[0]?.content).includes('- colour: Likes blue.')) // → true

const memories = createMemories({ store }) // for a page, an export, a deletion
const scope = { tenant: 'acme', user: 'alice' }
console.log((await memories.list(scope)).items[0]?.origin.sessionKey) // → tenant:acme:chat:1
console.log(await memories.forget(scope)) // → 1
await runtime.stop()

export {}
