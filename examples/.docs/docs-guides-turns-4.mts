import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'

const busy = Object.assign(new Error('overloaded'), { name: 'AI_APICallError', statusCode: 503, isRetryable: true })
const agent = defineAgent({
  model: scriptedModel([{ error: busy }, { error: busy }]),
  fallback: [scriptedModel([{ text: 'Here I am.' }])],
  retry: { maxRetries: 1, baseDelayMs: 1, jitter: 0 },
})
const run = agent.run('Hello?')
const { text } = await run.result()
console.log(text) // → Here I am.
for await (const event of run.events({ deltas: false })) {
  if (event.type === 'retry-start') console.log(event.cause, event.delayMs) // → error 1
} // → fallback 0

export {}
