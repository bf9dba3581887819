// An agent with a tool that runs in the browser of the user. The server has the agent, and the page has the tool.
//
// npm install @bowline/server @bowline/client @bowline/sessions @bowline/agent-loop @bowline/llm ai zod esbuild hono
// @hono/node-server @ai-sdk/openai
//   node main.ts

import { join } from 'node:path'
import { serve } from '@hono/node-server'
import { openai } from '@ai-sdk/openai'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'
import { build } from 'esbuild'
import { Hono } from 'hono'
import { z } from 'zod'

/** Without `execute` the tool is remote: the run waits until a client answers. */
const pageTitle = defineTool({
  name: 'page_title',
  description: 'The title of the page that the user sees',
  inputSchema: z.object({}),
  effect: 'pure',
})

/** Model without a key: asks the page for its title and answers with it. */
const offline = scriptedModel(({ prompt }) => {
  const title = /"title":"([^"]*)"/.exec(JSON.stringify(prompt.filter(({ role }) => role === 'tool')))?.[1]
  return title === undefined ? { toolCalls: [{ name: 'page_title', input: {} }] } : { text: `You see the page "${title}".` }
})

const runtime = createRuntime({
  agents: [defineAgent({ name: 'assistant', model: process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline, tools: [pageTitle] })],
})
await runtime.start()

// Every visitor is the same user here. See ../hono-server for a login.
const bowline = createServer({
  runtime,
  auth: async () => ({ id: 'visitor', tenant: 'visitors', scopes: ['sessions:read', 'sessions:write'] }),
})

// ── The page, bundled at the start ───────────────────────────────────────────

const entry = join(import.meta.dirname, 'page.ts')
const bundle = await build({ entryPoints: [entry], bundle: true, format: 'esm', platform: 'browser', target: 'es2022', write: false })
const html = `<!doctype html><title>My harbour</title>
<form><input value="What page do I see?"> <button>Ask</button></form><pre></pre><script type="module" src="/page.js"></script>`

const app = new Hono()
app.get('/', (c) => c.html(html))
app.get('/page.js', (c) => c.body(bundle.outputFiles[0]?.text ?? '', 200, { 'content-type': 'text/javascript' }))
app.all('/api/*', (c) => bowline.fetch(c.req.raw))
serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 8788), hostname: '127.0.0.1' }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
)
