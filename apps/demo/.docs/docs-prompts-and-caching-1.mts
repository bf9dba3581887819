import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'

const model = scriptedModel([{ text: 'Hello Ada.' }])
const agent = defineAgent({
  model,
  instructions: {
    user: () => 'The user is called Ada.',
    system: 'You are the assistant of a harbour.',
    append: 'Answer in one sentence.',
  },
})
await agent.run('Hi').result()
const [system] = model.calls[0]?.prompt ?? []
for (const line of String(system?.content).split('\n').filter(Boolean)) console.log(line)
// → You are the assistant of a harbour.
// → Answer in one sentence.
// → The user is called Ada.

export {}
