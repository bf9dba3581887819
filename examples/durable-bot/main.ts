// A bot that survives `kill -9`. If you kill it during a tool and start it again, it continues and pays only once.
//
//   npm install @bowline/sessions @bowline/agent-loop @bowline/llm ai zod @ai-sdk/openai
//   node main.ts

import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { z } from 'zod'
import { model } from './model.ts'

// ── The bank: outside the bot, so a crash undoes no payment ──────────────────

const ledger = '.bowline/durable-bot-payments.txt'
mkdirSync('.bowline', { recursive: true })
const isPaid = (key: string): boolean => existsSync(ledger) && readFileSync(ledger, 'utf8').includes(key)

async function transfer(key: string, sum: number): Promise<void> {
  console.log(`[bank] pays ${sum}`)
  appendFileSync(ledger, `${key} ${sum}\n`)
  console.log('[bank] paid; the answer takes three seconds (kill me now)')
  await wait(3000)
}

// ── The bot ──────────────────────────────────────────────────────────────────

const pay = defineTool({
  name: 'pay',
  description: 'Pays a bill',
  inputSchema: z.object({ sum: z.number() }),
  effect: 'once', // the default: never runs again by itself
  async execute({ sum }, { idempotencyKey }) {
    await transfer(idempotencyKey, sum)
    return `Paid ${sum}.`
  },
  // Called after a crash between start and result: has the payment happened?
  reconcile: async ({ sum }, { idempotencyKey }) => {
    console.log('[bot] asks the bank what became of the payment')
    return isPaid(idempotencyKey) ? { happened: true, result: `Paid ${sum}.` } : { happened: false }
  },
})

const runtime = createRuntime({
  agents: [defineAgent({ name: 'bot', model, instructions: 'Pay what the user owes.', tools: [pay] })],
  store: sqliteStore({ file: '.bowline/durable-bot.db' }),
})
await runtime.start() // resumes the runs of a dead process

// The id makes the input idempotent: a second start attaches to the run of the first one.
const run = await runtime.session('user:ada').send('Pay my bill of 80.', { id: 'bill-17' })
for await (const event of run) {
  if (event.type === 'turn-start' && event.resumed) console.log('[bot] goes on after a crash')
  if (event.type === 'tool-execution-end') console.log(`[bot] pay: ${event.message.status}`)
}
const { status, text, error } = await run.result()
console.log(`${status}: ${text}`)
await runtime.stop()
if (error) throw new Error(error.message)
