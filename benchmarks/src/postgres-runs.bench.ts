import { isShort, median, type Bench } from './harness.ts'
import { startProcess, type PostgresProcess } from './postgres-process.ts'
import { withPostgres, type BenchServer } from './postgres-server.ts'

const runs = isShort ? 100 : 1_000
const atOnce = 8
const rounds = isShort ? 1 : 3
const watchMs = 50

interface Sample {
  readonly perSecond: number
  readonly connections: number
}

export const bench: Bench = {
  title: 'Runs of two steps on Postgres',
  text: [
    `${runs.toLocaleString('en')} new sessions, a run with a tool call and a last word each, no-op model, ${atOnce} at once in each process; each process executes whatever it claims, its own or another's. From the`,
    `first \`send\` until the last result, median of ${rounds} rounds. *Connections* are the most that the server had at once, per process.`,
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const processes of [1, 4]) {
      const samples = await withPostgres((server) => sampled(server, processes))
      const of = (value: (sample: Sample) => number) => median(samples.map(value))
      rows.push([
        String(processes),
        of(({ perSecond }) => perSecond).toFixed(0),
        of(({ connections }) => connections / processes).toFixed(1),
      ])
    }
    return { head: ['processes', 'runs/s', 'connections'], rows }
  },
}

async function sampled(server: BenchServer, count: number): Promise<readonly Sample[]> {
  const processes: PostgresProcess[] = []
  try {
    // Sequential, because the first one creates the tables.
    while (processes.length < count) processes.push(await startProcess({ url: server.url, concurrency: 32 }))
    await runAll(processes, 'warm-up', atOnce * 5)
    const samples: Sample[] = []
    for (let round = 0; round < rounds; round += 1) {
      const watch = watchConnections(server)
      const perSecond = await runAll(processes, `round-${round}`, Math.ceil(runs / count))
      samples.push({ perSecond, connections: await watch.end() })
    }
    return samples
  } finally {
    await Promise.all(processes.map((each) => each.stop()))
  }
}

/** Returns the runs per second that all processes complete together. */
async function runAll(processes: readonly PostgresProcess[], name: string, count: number): Promise<number> {
  for (const [place, each] of processes.entries()) each.order({ kind: 'run', name: `${name}:${place}`, count, atOnce })
  const reports = await Promise.all(processes.map((each) => each.next('ran')))
  const ms = Math.max(...reports.map(({ endedAt }) => endedAt)) - Math.min(...reports.map(({ startedAt }) => startedAt))
  return (processes.length * count * 1000) / ms
}

/** Polls the number of connections, on a connection that is not counted. */
function watchConnections({ query }: BenchServer): { end(): Promise<number> } {
  let most = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const [row] = await query<{ readonly count: string }>(
        "select count(*) as count from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
      )
      most = Math.max(most, Number(row?.count))
      await new Promise((resolve) => setTimeout(resolve, watchMs))
    }
  })()
  return {
    async end() {
      isOver = true
      await watching
      return most
    },
  }
}
