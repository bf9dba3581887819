import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

/** Model without a key: saves a statement, and answers a question with the note in its prompt. */
const offline = scriptedModel(({ prompt }) => {
  const [system, last] = [prompt[0], prompt.at(-1)]
  if (last?.role === 'tool') return { text: 'I will remember that.' }
  const [part] = last?.role === 'user' ? last.content : []
  const said = part?.type === 'text' ? part.text : ''
  if (!said.includes('?')) return { toolCalls: [{ name: 'memory_save', input: { key: 'cat', text: said } }] }
  const note = /^- cat: (.*)$/m.exec(system?.role === 'system' ? system.content : '')
  return { text: note ? `You told me: ${note[1]}` : 'You have not told me.' }
})

export const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
