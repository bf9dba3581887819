import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createOrchestration, createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { z } from 'zod'

const store = sqliteStore({ file: '.bowline/data.db' })
const orchestration = createOrchestration({
  store, // or a state store of its own: memoryStateStore()
  config: {
    steps: [
      { name: 'look', isDefault: true, sequence: ['search', 'read'] }, // one after the other
      { name: 'write', conditions: [{ type: 'tool_used', value: 'read' }], tools: { deny: ['delete_*'] } },
    ],
  },
})
const tool = (name: string) => defineTool({ name, description: name, inputSchema: z.object({}), execute: () => 'done' })
const call = (name: string, id: string) => ({ toolCalls: [{ id, name, input: {} }] })
const model = scriptedModel([call('read', '1'), call('search', '2'), call('read', '3'), { text: 'Ready to write.' }])
const tools = ['search', 'read', 'write', 'delete_all'].map(tool)
const agent = defineAgent({ name: 'assistant', model, tools, extensions: [orchestration.extension()] })

const runtime = createRuntime({ agents: [agent], store })
await runtime.start()
const run = await runtime.session('room:1').send('Go')
for await (const event of run) {
  if (event.type === 'orchestration-step') console.log(event.name, event.sequenceIndex)
}
// → look 0
// → look 1
// → look 2
// → write 0
const state = await orchestration.getState('room:1')
console.log(state?.activeStep, state?.recentlyUsedTools) // → write [ 'read', 'search' ]
console.log((await orchestration.allowedTools('room:1', ['write', 'delete_all'])).tools) // → [ 'write' ]
await runtime.stop()

export {}
