// Runs in workerd: a turn with a tool, and the client over the global fetch. Nothing here may need Node.
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { emptyView, reduceEvents } from '@bowline/agent-loop/events'
import { createClient } from '@bowline/client'
import { streamMessage } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import { z } from 'zod'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers',
  inputSchema: z.object({ left: z.number(), right: z.number() }),
  effect: 'pure',
  execute: ({ left, right }) => String(left + right),
})

async function answer() {
  const model = scriptedModel([{ toolCalls: [{ name: 'add', input: { left: 1, right: 2 } }] }, { text: 'It is three.', chunk: 4 }])
  const run = defineAgent({ name: 'calculator', model, tools: [add] }).run('What is one and two?')
  let view = emptyView
  for await (const event of run) view = reduceEvents(view, event)
  const { status, text } = await run.result()
  const { stopReason } = await streamMessage({
    model: scriptedModel([{ text: 'Hello.' }]),
    messages: [{ role: 'user', content: 'Hi' }],
  }).result()
  return { status, text, messages: view.messages.length, stopReason }
}

export default {
  async fetch() {
    return Response.json({ title: 'Nobody may', code: 'forbidden', status: 403 }, { status: 403 })
  },
  async test() {
    expectSame(await answer(), { status: 'completed', text: 'It is three.', messages: 4, stopReason: 'stop' })
    const { error } = await createClient({ baseUrl: 'http://worker' }).session().send('Hi').result()
    expectSame(error?.code, 'forbidden')
  },
}

function expectSame(value, expected) {
  const [got, wanted] = [JSON.stringify(value), JSON.stringify(expected)]
  if (got !== wanted) throw new Error(`${got} is not ${wanted}`)
}
