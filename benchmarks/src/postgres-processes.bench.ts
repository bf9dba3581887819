import { createRuntime, type LoggedEvent, type Runtime } from '@bowline/sessions'
import { defineAgent } from '@bowline/agent-loop'
import { postgresStore } from '@bowline/postgres'
import { isShort, type Bench } from './harness.ts'
import { pacedModel, sharedNow, type PacedAnswer } from './paced-model.ts'
import { pacedAgent, startProcess, type PostgresProcess } from './postgres-process.ts'
import { withPostgres, type BenchServer } from './postgres-server.ts'
import { percentile } from './sse-load.ts'

const sends = isShort ? 20 : 300
const streamed: PacedAnswer = { deltas: isShort ? 20 : 100, perSecond: 50, calls: 3 }
const streams = isShort ? 1 : 5

export const bench: Bench = {
  title: 'From process to process through Postgres',
  text: [
    `Process A accepts inputs and reads, process B executes. ${sends} inputs in new sessions, one after the other: from \`send\` at A until the model is called at B. Then ${streams} runs of ${(streamed.calls ?? 0) + 1} steps, each a text of`,
    `${streamed.deltas} deltas at ${streamed.perSecond} a second and but for the last a tool call: from a delta made at B until a reader of \`events()\` at A has it, and how much later than a reader at B the one at A has each`,
    'durable event. A dash: readers at A get no deltas.',
  ].join('\n'),
  async run() {
    const rows = await withPostgres(async (server) => {
      const executing = await startProcess({ url: server.url, concurrency: 32 })
      try {
        return await withAccepting(server, async (runtime) => [
          row('input until model call', await sendTimes(runtime, executing)),
          ...(await streamRows(runtime, executing)),
        ])
      } finally {
        await executing.stop()
      }
    })
    return { head: ['what', 'count', 'p50 ms', 'p95', 'p99', 'longest'], rows }
  },
}

/** Creates a runtime that executes no runs. */
async function withAccepting<T>({ url }: BenchServer, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  const agent = defineAgent({ name: pacedAgent, model: pacedModel })
  const runtime = createRuntime({ agents: [agent], store: postgresStore({ connectionString: url }), concurrency: 0 })
  try {
    await runtime.start({ keepAlive: true })
    return await work(runtime)
  } finally {
    await runtime.stop()
  }
}

async function sendTimes(runtime: Runtime, executing: PostgresProcess): Promise<readonly number[]> {
  const times: number[] = []
  for (let count = 0; count < sends; count += 1) {
    const sentAt = sharedNow()
    const run = await runtime.session(`sent:${count}`).send(JSON.stringify({ deltas: 1 }))
    const { at } = await executing.next('called')
    times.push(at - sentAt)
    await run.result()
  }
  return times
}

async function streamRows(runtime: Runtime, executing: PostgresProcess): Promise<string[][]> {
  const deltas: number[] = []
  const events: number[] = []
  for (let count = 0; count < streams; count += 1) {
    const key = `streamed:${count}`
    await runtime.session(key).open()
    executing.order({ kind: 'watch', session: key })
    const seen: Seen[] = []
    const run = await runtime.session(key).send(JSON.stringify(streamed))
    // Reads from the first event of the run to its end.
    for await (const event of run) seen.push({ event, at: sharedNow() })
    deltas.push(...seen.flatMap(deltaTimes))
    events.push(...(await eventTimes(seen, executing)))
  }
  return [row('delta until reader', deltas), row('durable event, later than here', events)]
}

interface Seen {
  readonly event: LoggedEvent
  readonly at: number
}

/** Returns the delays of a delta. It begins with its time; several deltas may have been joined. */
function deltaTimes({ event, at }: Seen): readonly number[] {
  if (event.type !== 'text-delta') return []
  return event.delta
    .trim()
    .split(' ')
    .map((madeAt) => at - Number(madeAt))
}

async function eventTimes(seen: readonly Seen[], executing: PostgresProcess): Promise<readonly number[]> {
  const wanted = new Map(seen.filter(({ event }) => !event.type.endsWith('-delta')).map(({ event, at }) => [event.cursor, at]))
  const times: number[] = []
  while (wanted.size > 0) {
    const { cursor, at } = await executing.next('event')
    const seenAt = wanted.get(cursor)
    wanted.delete(cursor)
    if (seenAt !== undefined) times.push(seenAt - at)
  }
  return times
}

function row(name: string, times: readonly number[]): string[] {
  const shown = [0.5, 0.95, 0.99, 1].map((share) => (times.length === 0 ? '–' : percentile(times, share).toFixed(1)))
  return [name, String(times.length), ...shown]
}
