// An agent with three tools: one answers, one streams its progress, and one asks before it acts.
//
//   npm install @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   node main.ts

import { createInterface } from 'node:readline/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { createMemoryJournal, defineAgent, defineTool, type AgentInput, type ApprovalDecision } from '@bowline/agent-loop'
import { z } from 'zod'
import { model } from './model.ts'

const stock = defineTool({
  name: 'stock',
  description: 'How many of an item are in stock',
  inputSchema: z.object({ item: z.string() }),
  effect: 'pure', // may run again after a crash
  execute: ({ item }) => ({ item, left: 3 }),
})

const compare = defineTool({
  name: 'compare_prices',
  description: 'Asks all suppliers for the price of an item. Takes a while.',
  inputSchema: z.object({ item: z.string() }),
  effect: 'pure',
  async *execute({ item }) {
    for (const supplier of ['North', 'South', 'West']) {
      await wait(100)
      yield `asked ${supplier}\n` // progress: shown, but not sent to the model
    }
    return `The cheapest ${item} costs 80 at South.`
  },
})

const order = defineTool({
  name: 'order',
  description: 'Orders an item',
  inputSchema: z.object({ item: z.string(), price: z.number() }),
  needsApproval: ({ price }) => price > 50,
  execute: ({ item, price }) => `Ordered one ${item} for ${price}.`,
})

const agent = defineAgent({
  name: 'buyer',
  model,
  instructions: 'Buy what the user asks for, at the best price.',
  tools: [stock, compare, order],
})
const journal = createMemoryJournal() // stores the conversation between runs
const terminal = createInterface({ input: process.stdin, output: process.stdout })

let input: AgentInput | undefined = process.argv[2] ?? 'Buy a lamp.'
while (input !== undefined) {
  const run = agent.run(input, { journal })
  for await (const event of run) {
    if (event.type === 'text-delta') process.stdout.write(event.delta)
    if (event.type === 'tool-execution-start') console.log(`[${event.toolName}] started`)
    if (event.type === 'tool-execution-delta') process.stdout.write(`[compare_prices] ${String(event.delta)}`)
    if (event.type === 'tool-execution-end') console.log(`[${event.message.toolName}] ${event.message.status}`)
  }
  const { pendingApprovals, error } = await run.result()
  if (error) throw new Error(error.message)

  // A run that needs an approval ends. The decision starts the next run with the same journal, minutes or days later.
  const approvals: ApprovalDecision[] = []
  for (const { approvalId, toolName, input: asked } of pendingApprovals) {
    const answer = await terminal.question(`Allow ${toolName} ${JSON.stringify(asked)}? [y/n] `)
    approvals.push({ approvalId, decision: answer === 'y' ? 'approve' : 'deny' })
  }
  input = approvals.length > 0 ? { approvals } : undefined
}
terminal.close()
console.log()
