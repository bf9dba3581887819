import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'

const reader = scriptedModel([{ text: 'Knots are old.', delayMs: 500 }])
const researcher = defineAgent({ name: 'researcher', description: 'Reads and sums up.', model: reader })
const assistant = defineAgent({
  name: 'assistant',
  subagents: [researcher],
  model: scriptedModel([
    { toolCalls: [{ name: 'delegate_to_researcher', input: { prompt: 'Read about knots.', run_in_background: true } }] },
    { text: 'I have started it.' },
    { text: 'It has ended.' }, // the turn that the notification starts
  ]),
})
const runtime = createRuntime({ agents: [assistant, researcher] })
await runtime.start()
const session = runtime.session('room:1')
const run = await session.send('Research knots.')
console.log((await run.result()).text) // → I have started it.
const ends = []
for await (const event of session.events()) {
  if (event.type === 'child-end') ends.push(`researcher ${event.status}`)
  if (event.type === 'turn-end') ends.push(`turn ${event.status}`)
  if (ends.length === 3) break
}
console.log(ends.sort()) // → [ 'researcher completed', 'turn completed', 'turn completed' ]
await runtime.stop()

export {}
