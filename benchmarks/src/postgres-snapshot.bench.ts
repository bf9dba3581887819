import pg from 'pg'
import { isShort, type Bench } from './harness.ts'
import { startProcess, type PostgresProcess } from './postgres-process.ts'
import { withPostgres, type BenchServer } from './postgres-server.ts'

const heldMs = isShort ? 6_000 : 60_000
const settleMs = isShort ? 1_000 : 5_000
const besideMs = isShort ? 3_000 : 20_000
const atOnce = 8

export const bench: Bench = {
  title: 'Load on Postgres while a snapshot is held',
  text: [
    `One process completes runs of two steps, ${atOnce} at once, 20 runs in each session. After ${besideMs / 1000} s another connection begins a transaction that sees the database as it is then, for ${heldMs / 1000} s: until its end`,
    'the server keeps every version of every row. *Dead rows* are those of all tables at the end of each part.',
  ].join('\n'),
  async run() {
    const rows = await withPostgres(async (server) => {
      const process = await startProcess({ url: server.url, concurrency: 32 })
      try {
        process.order({ kind: 'load', name: 'load', atOnce })
        return await parts(server, process)
      } finally {
        process.order({ kind: 'unload' })
        await process.next('unloaded')
        await process.stop()
      }
    })
    return { head: ['part', 's', 'runs/s', 'of before', 'dead rows'], rows }
  },
}

async function parts(server: BenchServer, process: PostgresProcess): Promise<string[][]> {
  await wait(settleMs)
  const before = await rate(process, besideMs)
  const row = async (name: string, ms: number, perSecond: number): Promise<string[]> => {
    const share = `${((100 * perSecond) / before).toFixed(0)} %`
    return [name, (ms / 1000).toFixed(0), perSecond.toFixed(0), share, (await deadRows(server)).toLocaleString('en')]
  }
  const rows = [await row('before', besideMs, before)]
  const end = await holdSnapshot(server)
  const lastMs = heldMs / 3
  rows.push(await row('held', heldMs - lastMs, await rate(process, heldMs - lastMs)))
  rows.push(await row('held, last third', lastMs, await rate(process, lastMs)))
  await end()
  await wait(settleMs)
  rows.push(await row('after', besideMs, await rate(process, besideMs)))
  return rows
}

async function holdSnapshot({ url }: BenchServer): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  return () => client.end()
}

async function rate(process: PostgresProcess, ms: number): Promise<number> {
  const before = await completed(process)
  const startedAt = performance.now()
  await wait(ms)
  const after = await completed(process)
  return ((after - before) * 1000) / (performance.now() - startedAt)
}

async function completed(process: PostgresProcess): Promise<number> {
  process.order({ kind: 'count' })
  return (await process.next('counted')).completed
}

async function deadRows({ query }: BenchServer): Promise<number> {
  const [row] = await query<{ readonly count: string }>('select sum(n_dead_tup) as count from pg_stat_user_tables')
  return Number(row?.count)
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
