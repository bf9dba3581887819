import { defineAgent } from '@bowline/agent-loop'
import { createClient } from '@bowline/client'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

const agent = defineAgent({ name: 'assistant', model: scriptedModel([{ text: 'Hello over HTTP.' }]) })
const runtime = createRuntime({ agents: [agent], store: sqliteStore({ file: '.bowline/agent.db' }) })
await runtime.start()
const server = await serve(createServer({ runtime, auth: 'none' }), { port: 0 }) // 'none': callers on this machine only

const run = createClient({ baseUrl: server.url }).session().send('Hi')
console.log((await run.result()).status) // → completed
await server.close()
await runtime.stop()

export {}
