// Runs in workerd with the flag nodejs_compat: a server whose sessions are in memory, and a client that reads its streams over HTTP.
import { defineAgent } from '@bowline/agent-loop'
import { createClient } from '@bowline/client'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'

let server

async function start() {
  const model = scriptedModel([{ text: 'Hello from a worker.', chunk: 5 }, { text: 'Hello again.' }])
  const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model })] })
  await runtime.start()
  return createServer({
    runtime,
    auth: () => ({ id: 'me', tenant: 'acme', scopes: ['sessions:read', 'sessions:write'] }),
    hosts: ['worker'],
  })
}

export default {
  async fetch(request) {
    server ??= await start()
    return server.fetch(request)
  },
  async test() {
    const session = createClient({ baseUrl: 'http://worker', token: 'any' }).session()
    let deltas = 0
    const run = session.send('Hi')
    for await (const event of run) if (event.type === 'text-delta') deltas += 1
    const { text } = await run.result()
    if (text !== 'Hello from a worker.' || deltas === 0) throw new Error(`${deltas} deltas and the text ${text}`)
    const { status, messages } = await session.send('And again?').result()
    if (status !== 'completed' || messages.at(-1).content[0].text !== 'Hello again.')
      throw new Error(`${status} ${JSON.stringify(messages)}`)
  },
}
