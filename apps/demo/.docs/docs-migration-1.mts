import { openai } from '@ai-sdk/openai'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { z } from 'zod'

const pay = defineTool({
  name: 'pay',
  description: 'Pay a bill.',
  inputSchema: z.object({ sum: z.number() }),
  needsApproval: true,
  execute: async ({ sum }) => `paid ${sum}`,
})
const agent = defineAgent({ name: 'assistant', model: openai('gpt-5.1'), tools: [pay] })
const runtime = createRuntime({ agents: [agent], store: sqliteStore({ file: 'agent.db' }) })
await runtime.start()
const session = runtime.session('room-1')
const word = process.argv[2] ?? ''
const before = await session.open()
const asked = before.openRun?.pendingApprovals[0]
if (asked && word === 'approve') await session.approve(asked.approvalId)
else await session.send(word)
for await (const event of session.events({ cursor: before.cursor })) {
  if (event.type === 'text-delta') process.stdout.write(event.delta)
  if (event.type === 'approval-requested') console.log('approve', event.toolName, event.input)
  if (event.type === 'save-point') break
}
await runtime.stop()

export {}
