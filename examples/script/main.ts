// One model call with `@bowline/llm` alone: streamed text, stop reason and cost.
//
//   npm install @bowline/llm ai zod @ai-sdk/openai
//   node main.ts "Why is the sky blue?"

import { openai } from '@ai-sdk/openai'
import { streamMessage } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'

const question = process.argv[2] ?? 'Why is the sky blue?'

/** Model without a key: says the same sentence each time, word by word. */
const offline = scriptedModel(() => ({ text: 'Air scatters blue light more than red light.', chunk: 6, deltaDelayMs: 20 }))

const stream = streamMessage({
  model: process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline,
  instructions: 'Answer in one sentence.',
  messages: [{ role: 'user', content: question }],
  price: { input: '1.25', output: '10' }, // US dollars per million tokens
})

// A slow reader slows down the provider. Leaving the loop cancels the call.
for await (const event of stream) {
  if (event.type === 'text-delta') process.stdout.write(event.delta)
}

// `result()` never rejects: a failed call is a message with `stopReason: 'error'`.
const { stopReason, error, usage, cost } = await stream.result()
console.log(`\n\nstopped: ${stopReason}`)
console.log(`tokens: ${usage.inputTokens} in, ${usage.outputTokens} out`)
console.log(`cost: ${cost?.total} ${cost?.currency}`)
if (error) {
  console.error(`${error.kind}: ${error.message}`, error.retryable ? '(a retry may help)' : '')
  process.exitCode = 1
}
