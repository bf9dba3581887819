import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createClient } from '@bowline/client'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { serve } from '@bowline/server/node'
import { createRuntime } from '@bowline/sessions'
import { z } from 'zod'

// On the server: what the tool is called and takes.
const place = defineTool({ name: 'where_am_i', description: 'The place of the user.', inputSchema: z.object({}), effect: 'pure' })
const model = scriptedModel([{ toolCalls: [{ name: 'where_am_i', input: {} }] }, { text: 'You are at sea.' }])
const runtime = createRuntime({ agents: [defineAgent({ name: 'assistant', model, tools: [place] })] })
await runtime.start()
const running = await serve(createServer({ runtime, auth: 'none' }), { port: 0 })

// In the page: what it does.
const client = createClient({
  baseUrl: running.url,
  tools: {
    where_am_i: {
      effect: 'pure', // may run again when the page is loaded again
      execute: () => {
        console.log('asked') // → asked
        return { place: 'at sea' }
      },
    },
  },
})
const { status, text } = await client.session().send('Where am I?').result()
console.log(status, text) // → completed You are at sea.
await running.close()

export {}
