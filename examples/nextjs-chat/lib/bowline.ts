import { openai } from '@ai-sdk/openai'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer, type Principal, type Server } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

/** Model without a key: tells the same story each time, for half a minute, so that you can stop it or reload the page. */
const offline = scriptedModel(() => ({ text: 'A ship lay in the harbour. '.repeat(200), chunk: 9, deltaDelayMs: 50 }))

export const assistant = defineAgent({ name: 'assistant', model: process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline })

/** Returns the caller. Replace it by your login, for example with a cookie of `request`: here every visitor is the same user. */
async function auth(): Promise<Principal> {
  return { id: 'visitor', tenant: 'visitors', scopes: ['sessions:read', 'sessions:write'] }
}

async function start(): Promise<Server> {
  const runtime = createRuntime({ agents: [assistant], store: sqliteStore({ file: '.bowline/nextjs-chat.db' }) })
  await runtime.start()
  return createServer({ runtime, auth })
}

// `next dev` loads this module again after each change, but there must be only one server.
const global = globalThis as { bowline?: Promise<Server> }

/** Starts the server with the first request. */
export const bowline = (): Promise<Server> => (global.bowline ??= start())
