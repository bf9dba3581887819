import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

/** Without a key: pays, then says so. It looks at the prompt, so a second process goes on where the first one died. */
const offline = scriptedModel(({ prompt }) =>
  prompt.at(-1)?.role === 'tool' ? { text: 'Your bill is paid.' } : { toolCalls: [{ name: 'pay', input: { sum: 80 } }] },
)

export const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
