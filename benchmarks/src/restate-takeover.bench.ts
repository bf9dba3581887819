import { defineAgent } from '@bowline/agent-loop'
import { createRuntime, type Runtime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { sessionsOn } from '@bowline/restate'
import { isShort, type Bench } from './harness.ts'
import { pacedModel, sharedNow, type PacedAnswer } from './paced-model.ts'
import { pacedAgent, startProcess, type PostgresProcess } from './postgres-process.ts'
import { withRestate, type RestateBench } from './restate-servers.ts'
import { percentile } from './sse-load.ts'

const trials = { SIGKILL: isShort ? 2 : 30, SIGSTOP: isShort ? 1 : 5 } as const
const frozenAfterMs = 10_000
/** Longer than the benchmark: no caller waits for its end. */
const endless: PacedAnswer = { deltas: 1_000_000, perSecond: 5 }

export const bench: Bench = {
  title: 'Take-over on Restate',
  text: [
    'Two workers behind a TCP balancer; Restate places the sessions, Postgres keeps them. The worker that executes a run is killed or frozen in the middle of a model call: from then until the other one',
    `calls the model for this run. \`frozenAfterMs\` is ${frozenAfterMs / 1000} s, and Restate checks a silent connection after 1 s.`,
  ].join('\n'),
  async run() {
    const rows = await withRestate(async (servers) => {
      const agent = defineAgent({ name: pacedAgent, model: pacedModel })
      const runtime = createRuntime({
        agents: [agent],
        store: postgresStore({ connectionString: servers.postgres.url }),
        placement: 'host',
        concurrency: 0,
      })
      sessionsOn(runtime, { url: servers.restate.url })
      const pair = new Pair(servers)
      try {
        await runtime.start({ keepAlive: true })
        await pair.fill()
        await servers.restate.register(servers.balancer.url)
        const rows: string[][] = []
        for (const signal of ['SIGKILL', 'SIGSTOP'] as const) rows.push(rowOf(signal, await takeOverTimes(runtime, pair, signal)))
        return rows
      } finally {
        await pair.stop()
        await runtime.stop()
      }
    })
    return { head: ['signal', 'times', 'p50 ms', 'longest'], rows }
  },
}

/** Two workers. */
class Pair {
  readonly #servers: RestateBench
  #processes: readonly PostgresProcess[] = []

  constructor(servers: RestateBench) {
    this.#servers = servers
  }

  async fill(): Promise<void> {
    const { postgres, restate, balancer } = this.#servers
    while (this.#processes.length < 2) {
      const started = await startProcess({ url: postgres.url, concurrency: 32, restate: { url: restate.url, port: 0, frozenAfterMs } })
      this.#processes = [...this.#processes, started]
    }
    balancer.use(...this.#processes.map(({ port = 0 }) => port))
  }

  async nextCalled(among = this.#processes): Promise<{ readonly process: PostgresProcess; readonly at: number }> {
    return Promise.race(among.map(async (process) => ({ process, at: (await process.next('called')).at })))
  }

  others(than: PostgresProcess): readonly PostgresProcess[] {
    return this.#processes.filter((process) => process !== than)
  }

  async end(process: PostgresProcess): Promise<void> {
    process.signal('SIGKILL')
    this.#processes = this.others(process)
    await process.stop()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => this.end(process)))
  }
}

async function takeOverTimes(runtime: Runtime, pair: Pair, signal: keyof typeof trials): Promise<readonly number[]> {
  const times: number[] = []
  while (times.length < trials[signal]) {
    const session = runtime.session(`${signal}:${times.length}`)
    const run = await session.send(JSON.stringify(endless))
    const owner = await pair.nextCalled()
    const signalledAt = sharedNow()
    owner.process.signal(signal)
    const { at } = await pair.nextCalled(pair.others(owner.process))
    times.push(at - signalledAt)
    await run.stop()
    await pair.end(owner.process)
    await pair.fill()
  }
  return times
}

function rowOf(signal: string, times: readonly number[]): string[] {
  return [signal, String(times.length), ...[0.5, 1].map((share) => percentile(times, share).toFixed(0))]
}
