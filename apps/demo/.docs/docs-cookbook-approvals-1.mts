import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { z } from 'zod'

let paid = 0
const pay = defineTool({
  name: 'pay',
  description: 'Pay a sum.',
  inputSchema: z.object({ sum: z.number() }),
  needsApproval: ({ sum }) => sum > 100, // small sums are paid at once
  execute: ({ sum }) => void (paid = sum),
})
const model = scriptedModel([{ toolCalls: [{ name: 'pay', input: { sum: 500 } }] }, { text: 'Paid.' }])
const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model, tools: [pay] })] })
const session = runtime.session('room:1')
const run = await session.send('Pay the bill.')
console.log((await run.result()).status) // → awaiting-approval

// Later, perhaps in another process: find what waits, and decide.
for (const { key, openRun } of (await runtime.sessions({ status: ['waiting-for-user'] })).items) {
  for (const asked of openRun?.pendingApprovals ?? []) {
    console.log(key, asked.toolName, asked.input) // → room:1 pay { sum: 500 }
    await runtime.session(key).approve(asked.approvalId, { input: { sum: 400 }, by: 'Ada' })
  }
}
console.log((await run.result()).text, paid) // → Paid. 400
await runtime.stop()

export {}
