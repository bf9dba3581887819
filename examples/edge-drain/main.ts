// A function on a host that runs it for one request and then freezes or ends its process. It stores each input, works until its
// time limit, schedules the next call, and leaves no connection, lock or lease open.
//
//   npm install @bowline/sessions @bowline/postgres @bowline/agent-loop @bowline/llm ai zod pg @ai-sdk/openai
//   DATABASE_URL=postgresql://user:password@host:5432/database node main.ts

import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { z } from 'zod'
import { model } from './model.ts'

/** Without `execute` the answer comes from another request. After five seconds the run continues without it. */
const askSupplier = defineTool({
  name: 'ask-supplier',
  description: 'Asks the supplier for a price',
  inputSchema: z.object({ item: z.string() }),
  timeoutMs: 5000,
})

const agents = [defineAgent({ name: 'buyer', model, tools: [askSupplier] })]

// ── The function ─────────────────────────────────────────────────────────────

interface Host {
  /** Time limit of a request, minus the time to stop. */
  readonly budgetMs: number
  /** Schedules `POST /wake` for this time. A later call replaces an earlier one. */
  setAlarm(atMs: number): Promise<void>
}

/** Handles `POST /send`, which stores an input and works, and `POST /wake`, which works on due runs. */
async function handle(request: Request, host: Host): Promise<Response> {
  const untilMs = Date.now() + host.budgetMs
  const alarms: Promise<void>[] = []
  const runtime = createRuntime({
    agents,
    // One connection during the request, and no lock: a frozen process could not hold it.
    store: postgresStore({ connectionString: process.env['DATABASE_URL'] ?? '', listen: false, poolSize: 1 }),
    timers: false, // all work is done in `drain`
    onWake: ({ atMs }) => void alarms.push(host.setAlarm(atMs)), // called as soon as an input is stored, so that none is lost
  })
  try {
    if (new URL(request.url).pathname === '/send') {
      const { session, text } = (await request.json()) as { session: string; text: string }
      // A host that retries a request sends the same key: the input is stored once.
      const id = request.headers.get('idempotency-key') ?? undefined
      await runtime.session(session).send(text, id === undefined ? {} : { id })
    }
    // Runs that are not finished in time are released at their next boundary. The next call resumes them.
    return Response.json(await runtime.drain({ untilMs }))
  } finally {
    await runtime.stop()
    await Promise.all(alarms)
  }
}

// ── A minimal host: on yours, a queue or a scheduled function calls /wake ─────

let alarmAt = Infinity

async function call(path: string, budgetMs: number, body = {}): Promise<void> {
  const startedAt = Date.now()
  alarmAt = Infinity
  const setAlarm = async (atMs: number): Promise<void> => void (alarmAt = atMs)
  const request = new Request(`https://host.example${path}`, {
    method: 'POST',
    headers: { 'idempotency-key': 'order-1' },
    body: JSON.stringify(body),
  })
  const { ran, left } = (await (await handle(request, { budgetMs, setAlarm })).json()) as { ran: number; left: number }
  const alarm = alarmAt === Infinity ? 'none' : alarmAt - startedAt < 5000 ? 'now' : 'in five seconds'
  console.log(`${path}: ran ${ran}, left ${left}, alarm ${alarm}`)
}

// The host gives no time to this call: the input is stored, and the alarm does the work.
await call('/send', 0, { session: 'order:1', text: 'Buy a lamp' })
while (alarmAt !== Infinity) {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, alarmAt - Date.now())))
  await call('/wake', 10_000)
}
