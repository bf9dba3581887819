import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'

const reader = defineAgent({ name: 'reader', description: 'Reads and sums up', model: scriptedModel([{ text: 'It is about knots.' }]) })
const delegate = { toolCalls: [{ name: 'delegate_to_reader', input: { prompt: 'Read it' } }] }
const boss = defineAgent({ model: scriptedModel([delegate, { text: 'Knots.' }]), subagents: [reader] })
const run = boss.run('What is it about?')
for await (const event of run) {
  if (event.type === 'child-end') console.log(event.status) // → completed
}
console.log((await run.result()).text) // → Knots.

export {}
