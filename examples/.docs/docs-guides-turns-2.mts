import { createMemoryJournal, defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const again = defineTool({ name: 'again', description: '', inputSchema: z.object({}), execute: async () => 'more' })
const loops = () => scriptedModel([1, 2].map((step) => ({ toolCalls: [{ id: `call-${step}`, name: 'again', input: {} }] })))
const limited = defineAgent({ model: loops(), tools: [again], limits: { maxSteps: 2, maxDurationMs: 60_000 } })
const { status, reason } = await limited.run('go').result()
console.log(status, reason) // → limit max-steps

const stepwise = defineAgent({
  model: loops(),
  tools: [again],
  prepareStep: ({ step }) => (step === 1 ? { toolChoice: { toolName: 'again' } } : undefined),
  stopWhen: ({ lastOutcomes, step }) => step >= 2 && lastOutcomes.every((outcome) => outcome.status === 'result'),
})
console.log((await stepwise.run('go').result()).reason) // → stop-when

const careful = defineAgent({ model: scriptedModel([{ text: 'Done.' }]), limits: { maxTotalTokens: 0, onBudget: 'ask' } })
const journal = createMemoryJournal()
const { pendingApprovals: [more] } = await careful.run('go', { journal }).result()
console.log(more?.about) // → budget
const grant = { approvalId: more?.approvalId ?? '', decision: 'approve' as const, input: { tokens: 50_000 } }
console.log((await careful.run({ approvals: [grant] }, { journal }).result()).text) // → Done.

export {}
