import { defineAgent, defineExtension, defineGuardrail, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const audit = defineExtension({
  name: 'audit',
  hooks: {
    onInput: ({ input }) => ({ action: 'transform', input: `${String(input)} Please.` }),
    onToolResult: ({ call }, { state }) => void (state['calls'] = [...((state['calls'] ?? []) as string[]), call.toolName]),
  },
})
const noDeletes = defineGuardrail({
  name: 'no-deletes',
  beforeCall: ({ toolName }) => (toolName === 'delete' ? { action: 'block', reason: 'nothing is deleted here' } : undefined),
})
const drop = defineTool({ name: 'delete', description: '', inputSchema: z.object({}), execute: async () => 'gone' })
const agent = defineAgent({
  model: scriptedModel([{ toolCalls: [{ name: 'delete', input: {} }] }, { text: 'I may not.' }]),
  tools: [drop],
  extensions: [audit],
  guardrails: [noDeletes],
})
const { messages } = await agent.run('Delete it.').result()
console.log(messages[0]?.role === 'user' && messages[0].content) // → Delete it. Please.
console.log(messages[2]?.role === 'tool-result' && messages[2].status) // → denied

export {}
