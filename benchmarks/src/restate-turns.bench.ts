import { defineAgent } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { sessionsOn } from '@bowline/restate'
import { isShort, type Bench } from './harness.ts'
import { pacedModel, sharedNow } from './paced-model.ts'
import { pacedAgent, startProcess, type PostgresProcess } from './postgres-process.ts'
import { withRestate, type RestateBench } from './restate-servers.ts'
import { percentile } from './sse-load.ts'

type Host = 'own' | 'restate'
const sends = isShort ? 10 : 200
const runs = isShort ? 40 : 1000
const atOnce = 8
const frozenAfterMs = 30_000

export const bench: Bench = {
  title: 'Turns on Restate and on our own placement',
  text: [
    `The same store, Postgres. \`send → model\`: from the call of \`send\` in one process until another one calls the model, ${sends} times, one after the other. Runs of two steps in new sessions,`,
    `${runs} of them, ${atOnce} at once in each worker; processor time of all workers, without the servers.`,
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const host of ['own', 'restate'] as const) {
      rows.push(
        await withRestate(async (servers) => {
          const latency = await latencies(servers, host)
          const [one, four] = [await rate(servers, host, 1), await rate(servers, host, 4)]
          const ms = (share: number): string => percentile(latency, share).toFixed(1)
          return [host, ms(0.5), ms(0.99), one.perSecond.toFixed(0), four.perSecond.toFixed(0), one.cpuMs.toFixed(2), four.cpuMs.toFixed(2)]
        }),
      )
    }
    const head = ['placement', 'send → model p50 ms', 'p99', 'runs/s, 1 worker', '4 workers', 'CPU ms of a run, 1 worker', '4 workers']
    return { head, rows }
  },
}

async function startWorkers({ postgres, restate, balancer }: RestateBench, host: Host, count: number): Promise<readonly PostgresProcess[]> {
  const options = {
    url: postgres.url,
    concurrency: 32,
    ...(host === 'restate' && { restate: { url: restate.url, port: 0, frozenAfterMs } }),
  }
  const workers = await Promise.all(Array.from({ length: count }, () => startProcess(options)))
  if (host === 'restate') {
    balancer.use(...workers.map(({ port = 0 }) => port))
    await restate.register(balancer.url)
  }
  return workers
}

async function latencies(servers: RestateBench, host: Host): Promise<readonly number[]> {
  const [worker] = await startWorkers(servers, host, 1)
  const runtime = createRuntime({
    agents: [defineAgent({ name: pacedAgent, model: pacedModel })],
    store: postgresStore({ connectionString: servers.postgres.url }),
    concurrency: 0,
    placement: host === 'own' ? 'own' : 'host',
  })
  if (host === 'restate') sessionsOn(runtime, { url: servers.restate.url })
  await runtime.start({ keepAlive: true })
  const times: number[] = []
  for (let count = 0; count < sends; count++) {
    const startedAt = sharedNow()
    const run = await runtime.session(`latency:${count}`).send(JSON.stringify({ deltas: 1, perSecond: 1000 }))
    const called = await worker?.next('called')
    times.push((called?.at ?? Number.NaN) - startedAt)
    await run.result()
  }
  await runtime.stop()
  await worker?.stop()
  return times
}

async function rate(servers: RestateBench, host: Host, count: number): Promise<{ readonly perSecond: number; readonly cpuMs: number }> {
  const workers = await startWorkers(servers, host, count)
  const work = async (name: string, total: number) => {
    for (const [place, worker] of workers.entries())
      worker.order({ kind: 'run', name: `${name}:${host}:${count}:${place}`, count: total / count, atOnce })
    return Promise.all(workers.map((worker) => worker.next('ran')))
  }
  await work('warm', runs / 4)
  const reports = await work('rate', runs)
  await Promise.all(workers.map((worker) => worker.stop()))
  const seconds = (Math.max(...reports.map(({ endedAt }) => endedAt)) - Math.min(...reports.map(({ startedAt }) => startedAt))) / 1000
  return { perSecond: runs / seconds, cpuMs: reports.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / runs }
}
