import { createRuntime, type SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import pg from 'pg'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { startDelayProxy, type DelayProxy } from './delay-proxy.ts'
import { isShort, median, type Bench } from './harness.ts'
import { withPostgres } from './postgres-server.ts'
import { callsThenText } from './turns.ts'

const delayMs = 1
const turns = isShort ? 20 : 200
const calls = isShort ? 20 : 100

interface Distance {
  /** Namespace that separates the sessions of the distances. */
  readonly namespace: string
  readonly url: string
  /** Returns the number of round trips. NaN if they are not counted. */
  readonly roundTrips: () => number
}

export const bench: Bench = {
  title: 'Postgres behind a network',
  text: [
    `The same work through TCP on this machine, and through a proxy that keeps everything back for ${delayMs} ms each way. *Empty query* is the median of \`select 1\`. A step is one of ${calls} of a run, with a tool`,
    `call; a turn is one of ${turns}, from \`send\` until its result, and answered in text alone. Medians. *Round trips* are counted at the proxy, on all connections: of the median commit, and all that are made`,
    'per step and per turn, claims, reads and what follows from a turn included.',
  ].join('\n'),
  async run() {
    const rows = await withPostgres(async (server) => {
      const near = await row('TCP', { namespace: 'near', url: server.tcpUrl, roundTrips: () => NaN })
      const proxy = await startDelayProxy({ port: portOf(server.tcpUrl), delayMs })
      try {
        return [near, await row(`${2 * delayMs} ms away`, through(server.tcpUrl, proxy))]
      } finally {
        await proxy.stop()
      }
    })
    return { head: ['server', 'empty query ms', 'step ms', 'turn ms', 'round trips per commit', 'per step', 'per turn'], rows }
  },
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

function through(url: string, proxy: DelayProxy): Distance {
  return { namespace: 'far', url: Object.assign(new URL(url), { port: proxy.port }).href, roundTrips: () => proxy.roundTrips() }
}

async function row(name: string, distance: Distance): Promise<string[]> {
  const empty = await emptyQueryMs(distance.url)
  const perCommit: number[] = []
  const step = await stepFigures(distance, perCommit)
  const turn = await turnFigures(distance, perCommit)
  const counts = [median(perCommit), step.roundTrips, turn.roundTrips]
  return [
    name,
    ...[empty, step.ms, turn.ms].map((ms) => ms.toFixed(2)),
    ...counts.map((count) => (Number.isNaN(count) ? '–' : count.toFixed(1))),
  ]
}

async function emptyQueryMs(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const times: number[] = []
  for (let count = 0; count < 100; count += 1) {
    const startedAt = performance.now()
    await client.query('select 1')
    times.push(performance.now() - startedAt)
  }
  await client.end()
  return median(times)
}

interface Figures {
  readonly ms: number
  readonly roundTrips: number
}

async function stepFigures(distance: Distance, perCommit: number[]): Promise<Figures> {
  return withRuntime(distance, perCommit, callsThenText(calls), async (turn) => {
    await turn('warm-up')
    const { ms, roundTrips } = await turn('steps')
    return { ms: ms / calls, roundTrips: roundTrips / calls }
  })
}

async function turnFigures(distance: Distance, perCommit: number[]): Promise<Figures> {
  return withRuntime(distance, perCommit, [{ text: 20 }], async (turn) => {
    for (let count = 0; count < 10; count += 1) await turn('turns')
    const before = distance.roundTrips()
    const times: number[] = []
    for (let count = 0; count < turns; count += 1) times.push((await turn('turns')).ms)
    return { ms: median(times), roundTrips: (distance.roundTrips() - before) / turns }
  })
}

type Turn = (key: string) => Promise<Figures>

async function withRuntime(
  distance: Distance,
  perCommit: number[],
  answers: Parameters<typeof functionModel>[0],
  work: (turn: Turn) => Promise<Figures>,
): Promise<Figures> {
  const store = withCountedTrips(postgresStore({ connectionString: distance.url }), distance, perCommit)
  const runtime = createRuntime({ agents: [contenderAgent(functionModel(answers), answers.length)], store, namespace: distance.namespace })
  try {
    await runtime.start({ keepAlive: true })
    return await work(async (key) => {
      const [before, startedAt] = [distance.roundTrips(), performance.now()]
      const { status } = await (await runtime.session(key).send('go')).result()
      if (status !== 'completed') throw new Error(`A turn ended ${status}`)
      return { ms: performance.now() - startedAt, roundTrips: distance.roundTrips() - before }
    })
  } finally {
    await runtime.stop()
  }
}

/** Runs one session after the other, so that most commits are alone in the store. */
function withCountedTrips(store: SessionStore, { roundTrips }: Distance, perCommit: number[]): SessionStore {
  return {
    ...store,
    async commit(batch) {
      const before = roundTrips()
      const result = await store.commit(batch)
      perCommit.push(roundTrips() - before)
      return result
    },
  }
}
