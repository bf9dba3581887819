// A host of your own: BullMQ on Redis decides which process works on which session, and Postgres keeps the sessions. Start as many
// workers as you like, and kill them.
//
//   npm install @bowline/sessions @bowline/postgres @bowline/agent-loop @bowline/llm ai zod pg bullmq ioredis @ai-sdk/openai
//   export DATABASE_URL=postgresql://user:password@host:5432/database REDIS_URL=redis://host:6379
//   node main.ts                                      # a worker and one question
//   node main.ts work                                 # a worker
//   node main.ts send order:1 "Buy a lamp" [seconds]  # a process without workers, such as a web server

import { setTimeout as wait } from 'node:timers/promises'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { z } from 'zod'
import { bullHost } from './host.ts'
import { model } from './model.ts'

const askSupplier = defineTool({
  name: 'ask-supplier',
  description: 'Asks the supplier for a price',
  inputSchema: z.object({ item: z.string() }),
  effect: 'pure', // may run again after a crash
  async execute({ item }) {
    console.log(`[worker] asks for the price of a ${item}; the answer takes two seconds (kill me now)`)
    await wait(2000)
    return 80
  },
})

const frozenAfterMs = Number(process.env['FROZEN_AFTER_MS'] ?? 30_000)
const runtime = createRuntime({
  agents: [defineAgent({ name: 'buyer', model, tools: [askSupplier] })],
  store: postgresStore({ connectionString: process.env['DATABASE_URL'] ?? '' }),
  placement: 'host',
  // The lease ends before BullMQ gives a job up, so that the next worker need not wait for it.
  lease: { ttlMs: frozenAfterMs / 2, heartbeatMs: frozenAfterMs / 8 },
})
const host = bullHost(runtime, { connection: { url: process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379' }, frozenAfterMs })
await runtime.start()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void host.stop())

const [command = 'all', key = 'order:1', text = 'Buy a lamp', seconds = '0'] = process.argv.slice(2)
if (command !== 'send') host.work()
if (command !== 'work') {
  const run = await runtime.session(key).send(text, { notBefore: Date.now() + Number(seconds) * 1000 })
  const result = await run.result()
  console.log(`${key}: ${result.status}: ${result.text}`)
  await host.stop()
}
