// node postgres-child.ts <options as JSON>: a process with a runtime on Postgres, controlled by its parent.
import { defineAgent } from '@bowline/agent-loop'
import { createRuntime, type Session } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { sessionsOn } from '@bowline/restate'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { pacedModel, sharedNow } from './paced-model.ts'
import { pacedAgent, type ChildOptions, type Order, type Report } from './postgres-process.ts'

const { url, concurrency, restate } = JSON.parse(process.argv[2] ?? '') as ChildOptions

function report(what: Report): void {
  process.send?.(what)
}

/** Model that reports each call and answers at the requested pace. */
const model: typeof pacedModel = {
  ...pacedModel,
  doStream(options) {
    report({ kind: 'called', at: sharedNow() })
    return pacedModel.doStream(options)
  },
}

const twoSteps = [{ arguments: 1 }, { text: 1 }]
const { tools } = contenderAgent(model, 1)
const runtime = createRuntime({
  agents: [
    contenderAgent(functionModel(twoSteps), twoSteps.length),
    defineAgent({ name: pacedAgent, model, tools: [...tools], limits: { maxSteps: 10 } }),
  ],
  store: postgresStore({ connectionString: url }),
  concurrency,
  ...(restate && { placement: 'host' }),
})

const watching = new AbortController()
let isLoaded = false
let completed = 0

async function complete(session: Session): Promise<void> {
  const { status } = await (await session.send('go')).result()
  if (status !== 'completed') throw new Error(`A run ended ${status}`)
  completed += 1
}

/** Number of sequential runs per session. */
const runsOfSession = 20

async function loop(name: string): Promise<void> {
  for (let count = 0; isLoaded; count += 1) await complete(runtime.session(`${name}:${Math.floor(count / runsOfSession)}`))
}

/** Completes this number of new sessions with one run each. */
async function runSessions(name: string, count: number, atOnce: number): Promise<void> {
  let next = 0
  const work = async (): Promise<void> => {
    while (next < count) await complete(runtime.session(`${name}:${next++}`))
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

async function obey(order: Order): Promise<void> {
  if (order.kind === 'run') {
    const [startedAt, before] = [sharedNow(), process.cpuUsage()]
    await runSessions(order.name, order.count, order.atOnce)
    const { user, system } = process.cpuUsage(before)
    report({ kind: 'ran', startedAt, endedAt: sharedNow(), cpuMs: (user + system) / 1000 })
  } else if (order.kind === 'load') {
    isLoaded = true
    await Promise.all(Array.from({ length: order.atOnce }, (_, place) => loop(`${order.name}:${place}`)))
    report({ kind: 'unloaded' })
  } else if (order.kind === 'unload') {
    isLoaded = false
  } else if (order.kind === 'count') {
    report({ kind: 'counted', completed })
  } else {
    for await (const event of runtime.session(order.session).events({ abortSignal: watching.signal })) {
      if (!event.type.endsWith('-delta')) report({ kind: 'event', cursor: event.cursor, at: sharedNow() })
    }
  }
}

process.on('message', (order: Order) => void obey(order))
process.on('disconnect', () => {
  watching.abort()
  void runtime.stop().finally(() => process.exit(0))
})
const hosted = restate && sessionsOn(runtime, { url: restate.url, frozenAfterMs: restate.frozenAfterMs })
await runtime.start({ keepAlive: true })
const listening = await hosted?.listen({ port: restate?.port ?? 0 })
report({ kind: 'started', ...(listening && { port: Number(new URL(listening.url).port) }) })
