import { createRuntime, type SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { isShort, median, type Bench } from './harness.ts'
import { walBytes, withPostgres, type BenchServer } from './postgres-server.ts'
import { withSqlite } from './sqlite-sample.ts'
import { percentile } from './sse-load.ts'

const before = isShort ? 20 : 500
const timed = isShort ? 30 : 300
const rounds = isShort ? 1 : 3
const answers = [{ text: 20 }]

interface Turns {
  readonly times: readonly number[]
  readonly bytesPerTurn: number
}

export const bench: Bench = {
  title: 'A turn of a long session on Postgres and on SQLite',
  text: [
    `A session with ${before} turns gets ${timed} more, one after the other, each answered in 20 text deltas: from \`send\` until its result. All times of ${rounds} interleaved rounds, new databases in each.`,
    '*Log bytes* is what the server has written into its write-ahead log per turn.',
  ].join('\n'),
  async run() {
    const rounded: Record<'SQLite' | 'Postgres', Turns[]> = { SQLite: [], Postgres: [] }
    for (let round = 0; round < rounds; round += 1) {
      rounded.SQLite.push(await withSqlite((store) => turns(store, () => Promise.resolve(NaN))))
      rounded.Postgres.push(await withPostgres(postgresTurns))
    }
    return { head: ['store', 'p50 ms', 'p99', 'log bytes'], rows: Object.entries(rounded).map(([name, samples]) => rowOf(name, samples)) }
  },
}

async function postgresTurns(server: BenchServer): Promise<Turns> {
  return turns(postgresStore({ connectionString: server.url }), () => walBytes(server))
}

async function turns(store: SessionStore, bytesNow: () => Promise<number>): Promise<Turns> {
  const runtime = createRuntime({ agents: [contenderAgent(functionModel(answers), answers.length)], store })
  const session = runtime.session('long')
  const turn = async (): Promise<number> => {
    const startedAt = performance.now()
    const { status } = await (await session.send('go')).result()
    if (status !== 'completed') throw new Error(`A turn ended ${status}`)
    return performance.now() - startedAt
  }
  try {
    await runtime.start({ keepAlive: true })
    for (let count = 0; count < before; count += 1) await turn()
    const bytesBefore = await bytesNow()
    const times: number[] = []
    for (let count = 0; count < timed; count += 1) times.push(await turn())
    return { times, bytesPerTurn: ((await bytesNow()) - bytesBefore) / timed }
  } finally {
    await runtime.stop()
  }
}

function rowOf(name: string, samples: readonly Turns[]): string[] {
  const times = samples.flatMap((sample) => sample.times)
  const bytes = median(samples.map(({ bytesPerTurn }) => bytesPerTurn))
  return [
    name,
    ...[0.5, 0.99].map((share) => percentile(times, share).toFixed(2)),
    Number.isNaN(bytes) ? '–' : Math.round(bytes).toLocaleString('en'),
  ]
}
