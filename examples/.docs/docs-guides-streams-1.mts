import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const weather = defineTool({ name: 'weather', description: 'The weather', inputSchema: z.object({}), effect: 'pure', execute: () => 'Sunny.' })
const model = scriptedModel([{ toolCalls: [{ name: 'weather', input: {} }] }, { text: 'It is sunny.' }])
const run = defineAgent({ model, tools: [weather] }).run('How is the weather?')
const types = []
for await (const { type } of run.events({ deltas: false })) types.push(type)
console.log(types.join(' '))
// → user-message turn-start step-start message-start message-end tool-execution-start tool-execution-end step-end step-start message-start message-end step-end turn-end save-point settled

export {}
