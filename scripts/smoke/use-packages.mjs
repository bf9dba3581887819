// Runs in the empty project: every subpath must load, and a turn with a tool must run with the installed packages.
import assert from 'node:assert/strict'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { reduceEvents, emptyView } from '@bowline/agent-loop/events'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { kvStateStore } from '@bowline/redis/kv'
import { migratePostgres } from '@bowline/postgres'
import { redisStateStore } from '@bowline/redis'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { z } from 'zod'

for (const entry of process.argv.slice(2)) {
  const exported = Object.keys(await import(entry))
  assert.notEqual(exported.length, 0, `${entry} exports nothing`)
}

// Optional peers are loaded on demand, and an error names a missing one.
await assert.rejects(redisStateStore({ url: 'redis://127.0.0.1:1' }).open(), /npm install redis$/)
await assert.rejects(kvStateStore({ url: 'http://127.0.0.1:1', token: 'none' }).open(), /npm install @upstash\/redis$/)
await assert.rejects(migratePostgres({ connectionString: 'postgresql://127.0.0.1:1/none' }), /npm install pg$/)

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers',
  inputSchema: z.object({ left: z.number(), right: z.number() }),
  effect: 'pure',
  execute: ({ left, right }) => String(left + right),
})

function agentWithScript() {
  const model = scriptedModel([{ toolCalls: [{ name: 'add', input: { left: 1, right: 2 } }] }, { text: 'It is three.', chunk: 4 }])
  return defineAgent({ name: 'calculator', model, tools: [add] })
}

const run = agentWithScript().run('What is one and two?')
let view = emptyView
for await (const event of run) view = reduceEvents(view, event)
const result = await run.result()
assert.equal(result.status, 'completed')
assert.equal(result.text, 'It is three.')
assert.equal(view.messages.length, 4)

const runtime = createRuntime({ agents: [agentWithScript()], store: sqliteStore({ file: 'smoke.sqlite' }) })
await runtime.start()
const durable = await (await runtime.session('smoke').send('What is one and two?')).result()
assert.equal(durable.status, 'completed')
assert.equal(durable.text, 'It is three.')
await runtime.stop()
