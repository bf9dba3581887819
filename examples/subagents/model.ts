import { openai } from '@ai-sdk/openai'
import { scriptedModel } from '@bowline/llm/testing'

const online = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : undefined

/** Model without a key: gives the same answer each time, after a delay. */
export const helperModel = (text: string, delayMs: number) => online ?? scriptedModel(() => ({ text, delayMs }))

const inBackground = (agent: string, prompt: string) => ({ name: `delegate_to_${agent}`, input: { prompt, run_in_background: true } })

/** Model without a key: starts both, reads their results when it is notified, and reports. */
const offline = scriptedModel(({ prompt }) => {
  const said = JSON.stringify(prompt)
  const last = prompt.at(-1)
  if (!said.includes('delegate_to_')) return { toolCalls: [inBackground('trains', 'Which train?'), inBackground('hotels', 'Which hotel?')] }
  const tasks = [...new Set(said.match(/bg_[0-9a-f]{32}/g))]
  if (last?.role === 'user') return { toolCalls: tasks.map((task_id) => ({ name: 'background_output', input: { task_id } })) }
  const results = [...said.matchAll(/"text":"(The [^"]*)"/g)].map(([, text]) => text)
  return { text: results.length === 0 ? 'I am looking into it.' : results.join(' ') }
})

export const bossModel = online ?? offline
