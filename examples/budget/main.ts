// One budget for an agent and its subagents. Each model call first reserves its maximum, so concurrent calls never spend the same
// money. The unused part is released after the call.
//
//   npm install @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   node main.ts

import { createBudget, defineAgent } from '@bowline/agent-loop'
import { bossModel, readerModel } from './model.ts'

const budget = createBudget({ maxTotalTokens: 7000 })

const reader = defineAgent({
  name: 'reader',
  description: 'Reads one chapter and sums it up',
  model: readerModel,
  runtimeParams: { maxTokens: 2000 }, // reserved by each call, in addition to its prompt
})
const boss = defineAgent({
  name: 'boss',
  model: bossModel,
  runtimeParams: { maxTokens: 500 },
  instructions: 'Have all four chapters read at the same time, then say what the book is about.',
  subagents: [reader],
})

const state = (): string => `spent ${budget.spent.tokens}, reserved ${budget.reserved.tokens}`
const run = boss.run('What is the book about?', { budget })
for await (const event of run) {
  if (event.type === 'child-end') console.log(`[reader] ${event.status}: ${state()}`)
  if (event.type === 'message-end' && event.agent === undefined) console.log(`[boss] answered: ${state()}`)
}
const { status, text, usage } = await run.result()
console.log(`${status}: ${text}`)
console.log(`tokens of all: ${usage.totalTokens}, ${state()}`)
