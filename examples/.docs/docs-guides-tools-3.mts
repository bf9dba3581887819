import { createMemoryJournal, defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const locate = defineTool({ name: 'locate', description: 'Where the user is', inputSchema: z.object({}) })
const pay = defineTool({
  name: 'pay',
  description: 'Pay a sum',
  inputSchema: z.object({ sum: z.number() }),
  needsApproval: ({ sum }) => sum > 100,
  execute: async ({ sum }) => `paid ${sum}`,
})
const model = scriptedModel([
  { toolCalls: [{ id: 'a', name: 'locate', input: {} }] },
  { toolCalls: [{ id: 'b', name: 'pay', input: { sum: 500 } }] },
  { text: 'Paid.' },
])
const agent = defineAgent({ model, tools: [locate, pay] })
const journal = createMemoryJournal()
const first = await agent.run('Pay the bill', { journal }).result()
console.log(first.status, first.pendingToolCalls[0]?.toolName) // → awaiting-tools locate

const elsewhere = createMemoryJournal({ snapshot: JSON.parse(JSON.stringify(journal.snapshot())) })
const second = await agent.run({ toolResults: [{ toolCallId: 'a', output: 'Oslo' }] }, { journal: elsewhere }).result()
const [asked] = second.pendingApprovals
console.log(second.status, asked?.input) // → awaiting-approval { sum: 500 }

const decision = { approvalId: asked?.approvalId ?? '', decision: 'approve' as const, input: { sum: 400 }, by: 'Ada' }
const third = await agent.run({ approvals: [decision] }, { journal: elsewhere }).result()
console.log(third.messages.find((message) => message.role === 'tool-result')?.output) // → { type: 'text', value: 'paid 400' }

export {}
