import type { DurableContender, Answer } from './contender.ts'
import { storedCall } from './contender.ts'
import { checkStored, runStored, whileOpen } from './durable-workloads.ts'
import type { BenchServer } from './postgres-server.ts'
import { callsThenText, millisecondsOf, runRemote, warmUp } from './turns.ts'
import type { Workload } from './workload.ts'

export const postgresWorkloads = {
  'postgres-steps': {
    title: 'One turn of 200 steps with a tool, on Postgres',
    unit: 'ms per step',
    size: 200,
    furtherRows: [{ title: 'the same: log of the server', unit: 'bytes per step', valueOf: ({ writtenBytes }) => writtenBytes }],
    async measure(contender, size) {
      const server = await givenServer()
      try {
        await warmUpOn(server, contender, callsThenText(20, storedCall))
        const { ms, writtenBytes } = await measureOn(server, contender, callsThenText(size, storedCall))
        return { value: ms / size, writtenBytes: writtenBytes / size }
      } finally {
        await server.end()
      }
    },
  },
} satisfies Readonly<Record<string, Workload<DurableContender>>>

type GivenServer = BenchServer & { end(): Promise<void> }

/** Loads the client of the server only here, so that other workloads do not include it. */
async function givenServer(): Promise<GivenServer> {
  const { connectTo } = await import('./postgres-server.ts')
  const url = process.env['BENCH_POSTGRES_URL']
  if (url === undefined) throw new Error('BENCH_POSTGRES_URL is not set. Set it to the URL of a server on which databases may be created.')
  return connectTo(url, url)
}

let databases = 0

/** Creates an empty database. */
async function newDatabase({ query, tcpUrl }: BenchServer): Promise<string> {
  const name = `peer_${process.pid}_${++databases}`
  await query(`create database ${name}`)
  return Object.assign(new URL(tcpUrl), { pathname: `/${name}` }).href
}

async function warmUpOn(server: BenchServer, contender: DurableContender, answers: readonly Answer[]): Promise<void> {
  const url = await newDatabase(server)
  await whileOpen(contender, answers, url, (opened) => warmUp(() => runStored(opened, answers, [crypto.randomUUID()], runRemote)))
}

/** Measures one turn in a database that has empty tables. */
async function measureOn(
  server: BenchServer,
  contender: DurableContender,
  answers: readonly Answer[],
): Promise<{ readonly ms: number; readonly writtenBytes: number }> {
  const url = await newDatabase(server)
  const ids = ['conversation']
  const { walBytes } = await import('./postgres-server.ts')
  await whileOpen(contender, answers, url, () => Promise.resolve())
  await server.query('checkpoint')
  const figures = await whileOpen(contender, answers, url, async (opened) => {
    const before = await walBytes(server)
    const ms = await millisecondsOf(() => runStored(opened, answers, ids, runRemote))
    return { ms, writtenBytes: (await walBytes(server)) - before }
  })
  await whileOpen(contender, answers, url, (opened) => checkStored(opened, answers, ids))
  return figures
}
