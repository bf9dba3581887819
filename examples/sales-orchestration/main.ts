// A sales dialogue in steps. In each step the model sees only the tools that the plan allows. So it cannot quote a price before it
// knows the need of the customer, and cannot take an order before there is a quote.
//
//   npm install @bowline/sessions @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   node main.ts

import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createOrchestration, createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { z } from 'zod'
import { model } from './model.ts'

const tools = [
  defineTool({
    name: 'save_need',
    description: 'Notes what the customer needs',
    inputSchema: z.object({ boat: z.string(), metres: z.number() }),
    execute: ({ boat, metres }) => `Noted: ${metres} m of rope for a ${boat}.`,
  }),
  defineTool({
    name: 'quote',
    description: 'Makes an offer',
    inputSchema: z.object({ metres: z.number() }),
    effect: 'pure',
    execute: ({ metres }) => `${metres} m cost ${metres * 2}.`,
  }),
  defineTool({
    name: 'take_order',
    description: 'Takes the order',
    inputSchema: z.object({ sum: z.number() }),
    execute: ({ sum }) => `Ordered for ${sum}.`,
  }),
]

const store = memoryStore()
const plan = createOrchestration({
  store, // the state of the plan is stored with the session
  config: {
    pick: 'newest', // if the conditions of several steps hold, the one whose tool was used last
    steps: [
      { name: 'qualify', isDefault: true, tools: { allow: ['save_need'] } },
      { name: 'offer', conditions: [{ type: 'tool_used', value: 'save_need' }], tools: { allow: ['quote', 'save_need'] } },
      { name: 'close', conditions: [{ type: 'tool_used', value: 'quote' }], tools: { allow: ['take_order'] } },
    ],
  },
})

const agent = defineAgent({ name: 'seller', model, instructions: 'You sell rope. Be brief.', tools, extensions: [plan.extension()] })
const runtime = createRuntime({ agents: [agent], store })
await runtime.start()
const session = runtime.session('customer:1')

for (const text of ['I want to buy rope!', 'Ten metres, for my dinghy.', 'What does it cost?', 'I take it.']) {
  console.log(`customer: ${text}`)
  const run = await session.send(text)
  for await (const event of run) {
    if (event.type === 'orchestration-step') console.log(`  [step: ${event.name}]`)
    if (event.type === 'tool-execution-end') console.log(`  [${event.message.toolName}: ${event.message.status}]`)
  }
  console.log(`seller: ${(await run.result()).text}`)
}
console.log(`at the end: ${(await plan.getState('customer:1'))?.activeStep}`)
await runtime.stop()
