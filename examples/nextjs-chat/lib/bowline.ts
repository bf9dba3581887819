import { openai } from '@ai-sdk/openai'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createServer, type Principal, type Server } from '@bowline/server'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'

/** Without a key the same story is told each time, slowly enough to stop it or to reload the page. */
const offline = scriptedModel(() => ({ text: 'A ship lay in the harbour. '.repeat(20), chunk: 9, deltaDelayMs: 50 }))

export const assistant = defineAgent({ name: 'assistant', model: process.env['OPENAI_API_KEY'] ? openai('gpt-5') : offline })

/** Who asks. Read your login here, from a cookie of `request`: this one takes every visitor for the same user. */
async function auth(): Promise<Principal> {
  return { id: 'visitor', tenant: 'visitors', scopes: ['sessions:read', 'sessions:write'] }
}

async function start(): Promise<Server> {
  const runtime = createRuntime({ agents: [assistant], store: sqliteStore({ file: '.bowline/nextjs-chat.db' }) })
  await runtime.start()
  return createServer({ runtime, auth })
}

// `next dev` loads this module again after each change: the server must be there once.
const global = globalThis as { bowline?: Promise<Server> }

/** Starts the server with the first request. */
export const bowline = (): Promise<Server> => (global.bowline ??= start())
