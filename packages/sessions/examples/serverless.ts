// A function on a host that runs it for one request and then freezes or ends its process. It stores what it is sent, works
// for as long as it may, says when it must be called again, and leaves no connection, lock or lease behind.
//
//   npm install @bowline/llm @bowline/agent-loop @bowline/sessions ai zod pg
//   DATABASE_URL=postgresql://user:password@host:5432/database node serverless.ts

import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/sessions/postgres'
import { z } from 'zod'

// ── The agent ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Without `execute` the answer comes from outside, in another request. After five seconds the run goes on without it. */
const askSupplier = defineTool({
  name: 'ask-supplier',
  description: 'Asks the supplier for a price',
  inputSchema: z.object({ item: z.string() }),
  timeoutMs: 5000,
})

/** In the place of a model it says the same each time, so that the example needs no key. */
const model = scriptedModel((call) => {
  const wasAsked = call.prompt.some(({ role }) => role === 'tool')
  return wasAsked ? { text: 'No answer. By the list it costs 80.' } : { toolCalls: [{ id: 'call-1', name: 'ask-supplier', input: { item: 'lamp' } }] }
})

const agents = [defineAgent({ name: 'buyer', model, tools: [askSupplier] })]

// ── The function ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Host {
  /** How long a request may take, less what it takes to stop. */
  readonly budgetMs: number
  /** Calls `POST /wake` then. A later alarm takes the place of an earlier one. */
  setAlarm(atMs: number): Promise<void>
}

/** `POST /send` stores an input and works. `POST /wake` works on what is due. */
async function handle(request: Request, host: Host): Promise<Response> {
  const untilMs = Date.now() + host.budgetMs
  const alarms: Promise<void>[] = []
  const runtime = createRuntime({
    agents,
    // One connection, for as long as the request takes, and no lock: a frozen process could not keep it.
    store: postgresStore({ connectionString: process.env.DATABASE_URL ?? '', listen: false, poolSize: 1 }),
    // Nothing happens by itself: what is to be done is done in `drain`.
    timers: false,
    // The first call comes as soon as an input is stored, so that it is not lost if the host ends the process now.
    onWake: (atMs) => void alarms.push(host.setAlarm(atMs)),
  })
  try {
    const { pathname } = new URL(request.url)
    if (pathname === '/send') {
      const { session, text } = (await request.json()) as { session: string; text: string }
      // A host that repeats a request repeats its key: the input is stored once.
      const id = request.headers.get('idempotency-key') ?? undefined
      await runtime.session(session).send(text, id === undefined ? {} : { id })
    }
    // Runs that are not done in time leave at their next boundary. The next call goes on with them.
    return Response.json(await runtime.drain({ untilMs }))
  } finally {
    await runtime.stop()
    await Promise.all(alarms)
  }
}

// ── A host, as far as the example needs one ──────────────────────────────────────────────────────────────────────────────

let alarmAt = Infinity

async function call(path: string, budgetMs: number, body = {}): Promise<void> {
  const startedAt = Date.now()
  alarmAt = Infinity
  const setAlarm = async (atMs: number): Promise<void> => void (alarmAt = atMs)
  const request = new Request(`https://host.example${path}`, { method: 'POST', headers: { 'idempotency-key': 'order-1' }, body: JSON.stringify(body) })
  const { ran, left } = (await (await handle(request, { budgetMs, setAlarm })).json()) as { ran: number; left: number }
  const alarm = alarmAt === Infinity ? 'none' : alarmAt - startedAt < 5000 ? 'now' : 'in five seconds'
  console.log(`${path}: ran ${ran}, left ${left}, alarm ${alarm}`)
}

// The host gives no time at all: the input is stored, and the alarm does the work.
await call('/send', 0, { session: 'order:1', text: 'Buy a lamp' })
// A time is named before the work is done, so the last alarm may find nothing to do.
while (alarmAt !== Infinity) {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, alarmAt - Date.now())))
  await call('/wake', 10_000)
}
