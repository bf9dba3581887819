import { defineAgent } from '@bowline/agent-loop'
import { manualClock, scriptedModel } from '@bowline/llm/testing'

const clock = manualClock()
const busy = Object.assign(new Error('overloaded'), { name: 'AI_APICallError', statusCode: 503, isRetryable: true })
const agent = defineAgent({ model: scriptedModel([{ error: busy }, { text: 'Here I am.' }]), retry: { baseDelayMs: 20_000, jitter: 0 } })
const run = agent.run('Hello?', { clock })
for await (const event of run) {
  if (event.type !== 'retry-start') continue
  console.log(event.delayMs) // → 20000
  await clock.advance(event.delayMs)
}
console.log((await run.result()).text) // → Here I am.

export {}
