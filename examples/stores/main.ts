// The same agent on three stores: memory for trying things out, SQLite for one machine, Postgres for many. Only the line that
// creates the store changes.
//
//   npm install @bowline/sessions @bowline/postgres @bowline/agent-loop @bowline/llm ai zod pg @ai-sdk/openai
//   node main.ts memory && node main.ts sqlite && DATABASE_URL=postgresql://… node main.ts postgres

import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { postgresStore } from '@bowline/postgres'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { counter } from './agent.ts'

const stores = {
  memory: () => memoryStore(), // ends with the process
  sqlite: () => sqliteStore({ file: '.bowline/stores.db' }), // one process at a time
  postgres: () => postgresStore({ connectionString: process.env['DATABASE_URL'] ?? '' }), // any number of processes
}

const name = process.argv[2] ?? 'memory'
if (!Object.hasOwn(stores, name)) throw new Error(`There is no store ${name}. Choose one of ${Object.keys(stores).join(', ')}.`)

const runtime = createRuntime({ agents: [counter], store: stores[name as keyof typeof stores]() })
await runtime.start()
const run = await runtime.session('user:ada').send('How many?')
const { text, error } = await run.result()
await runtime.stop()
if (error) throw new Error(error.message)
console.log(`${name}: ${text}`)
