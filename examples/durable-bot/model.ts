import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

/** Model without a key: pays, then reports it. It only uses the prompt, so a second process continues where the first one died. */
const offline = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === 'tool' ? { text: 'Your bill is paid.' } : { toolCalls: [{ name: 'pay', input: { sum: 80 } }] },
)

export const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
