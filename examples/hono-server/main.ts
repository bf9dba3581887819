// A Bowline server inside a Hono app, with the login of that app.
//
//   npm install @bowline/server @bowline/sessions @bowline/agent-loop @bowline/llm ai zod hono @hono/node-server @ai-sdk/openai
//   SECRET="a long random text" node main.ts

import { serve } from '@hono/node-server'
import { openai } from '@ai-sdk/openai'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer, type Principal } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { Hono } from 'hono'
import { sign, verify } from 'hono/jwt'

const secret = process.env['SECRET'] ?? crypto.randomUUID()
const users: Readonly<Record<string, string>> = { ada: 'bowline', bob: 'reef' } // replace by your own users

// ── Agents ───────────────────────────────────────────────────────────────────

const offline = scriptedModel(() => ({ text: 'Hello from the server.', chunk: 6 }))
const model = process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline
const runtime = createRuntime({
  agents: [defineAgent({ name: 'assistant', model })],
  store: sqliteStore({ file: '.bowline/hono-server.db' }),
})
await runtime.start()

// ── Authentication: called for each request ──────────────────────────────────

async function principalOf(request: Request): Promise<Principal | null> {
  const token = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? ''
  const claims = await verify(token, secret, 'HS256').catch(() => null)
  if (typeof claims?.['sub'] !== 'string') return null
  // One tenant per user: no user sees the sessions of another one.
  return { id: claims['sub'], tenant: claims['sub'], scopes: ['sessions:read', 'sessions:write', 'approvals'] }
}

const bowline = createServer({ runtime, auth: principalOf })

// ── The app ──────────────────────────────────────────────────────────────────

const app = new Hono()
app.get('/', (c) => c.text('This page is open to everyone.'))
app.post('/login', async (c) => {
  const { name, password } = await c.req.json<{ name: string; password: string }>()
  if (!Object.hasOwn(users, name) || users[name] !== password) return c.json({ error: 'unknown name or password' }, 401)
  return c.json({ token: await sign({ sub: name, exp: Math.floor(Date.now() / 1000) + 3600 }, secret, 'HS256') })
})
app.all('/api/*', (c) => bowline.fetch(c.req.raw)) // sessions, streams, useChat

const port = Number(process.env['PORT'] ?? 8787)
const http = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (address) => console.log(`http://127.0.0.1:${address.port}`))

process.once('SIGTERM', () => {
  http.close()
  void bowline.close().then(() => runtime.stop())
})
