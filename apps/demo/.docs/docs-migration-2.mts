import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { z } from 'zod'

let payments = 0
const pay = defineTool({
  name: 'pay',
  description: 'Pay a bill.',
  inputSchema: z.object({ sum: z.number() }),
  timeoutMs: 10,
  execute: () => {
    payments += 1
    return new Promise<string>(() => {}) // the outcome of the payment is lost
  },
})
const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: { sum: 80 } }] }, { text: 'It is paid.' }])
const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model, tools: [pay], abortGraceMs: 10 })], store: memoryStore() })
const session = runtime.session('room-1')
const { status, pendingToolCalls: [call] } = await (await session.send('Pay the bill of 80.')).result()
console.log(status, call?.toolName, payments) // → needs-recovery pay 1
const run = await session.resolveTool(call?.toolCallId ?? '', { output: 'paid 80' }) // you looked at the account
console.log((await run.result()).text, payments) // → It is paid. 1
await runtime.stop()

export {}
