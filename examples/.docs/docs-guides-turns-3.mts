import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const forecast = z.object({ city: z.string(), celsius: z.number() })
const wrong = { toolCalls: [{ name: 'final_output', input: { city: 'Oslo' } }] }
const right = { toolCalls: [{ name: 'final_output', input: { city: 'Oslo', celsius: 7 } }] }
const agent = defineAgent({ model: scriptedModel([wrong, right]), output: forecast })
const { output, steps } = await agent.run('How is Oslo?').result()
console.log(output?.celsius, steps) // → 7 2

export {}
