import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { z } from 'zod'

const file = '.bowline/data.db'
const pay = defineTool({
  name: 'pay', description: 'Pays a bill', inputSchema: z.object({ sum: z.number() }), timeoutMs: 10,
  execute: () => new Promise<string>(() => {}), // the bank does not answer, so nobody knows whether it has paid
})
const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: { sum: 80 } }] }, { text: 'It is paid.' }])
const agent = defineAgent({ name: 'assistant', model, tools: [pay], abortGraceMs: 10 })

const first = createRuntime({ agents: [agent], store: sqliteStore({ file }) })
await first.start()
await (await first.session('room:1').send('Pay the bill.')).result()
await first.stop()

const second = createRuntime({ agents: [agent], store: sqliteStore({ file }) }) // in another process, on another day
await second.start()
for (const { key, openRun } of (await second.sessions({ parent: null })).items) {
  for (const call of openRun?.pendingToolCalls ?? []) {
    console.log(key, openRun?.status, call.toolName, call.input) // → room:1 needs-recovery pay { sum: 80 }
    const run = await second.session(key).resolveTool(call.toolCallId, { output: 'paid', details: { receipt: 17 } })
    console.log((await run.result()).text) // → It is paid.
  }
}
await second.stop()

export {}
