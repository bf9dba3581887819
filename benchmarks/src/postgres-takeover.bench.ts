import { defineAgent } from '@bowline/agent-loop'
import { createRuntime, type Runtime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { isShort, type Bench } from './harness.ts'
import { pacedModel, sharedNow, type PacedAnswer } from './paced-model.ts'
import { pacedAgent, startProcess, type PostgresProcess } from './postgres-process.ts'
import { withPostgres } from './postgres-server.ts'
import { percentile } from './sse-load.ts'

const trials = { SIGKILL: isShort ? 2 : 50, SIGSTOP: isShort ? 1 : 20 } as const
/** Longer than the benchmark: no caller waits for its end. */
const endless: PacedAnswer = { deltas: 1_000_000, perSecond: 5 }

export const bench: Bench = {
  title: 'Take-over on Postgres',
  text: [
    'Two processes with the default lease of 10 s, over one database. The one that executes a run is killed or frozen in the middle of a model call: from then until the other one calls the model for this run,',
    `${trials.SIGKILL} times with \`SIGKILL\` and ${trials.SIGSTOP} times with \`SIGSTOP\`.`,
  ].join('\n'),
  async run() {
    const rows = await withPostgres(async ({ url }) => {
      const agent = defineAgent({ name: pacedAgent, model: pacedModel })
      const runtime = createRuntime({ agents: [agent], store: postgresStore({ connectionString: url }), concurrency: 0 })
      const pair = new Pair(url)
      try {
        await runtime.start({ keepAlive: true })
        await pair.fill()
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

/** Two processes that execute runs. */
class Pair {
  readonly #url: string
  #processes: readonly PostgresProcess[] = []

  constructor(url: string) {
    this.#url = url
  }

  async fill(): Promise<void> {
    while (this.#processes.length < 2) this.#processes = [...this.#processes, await startProcess({ url: this.#url, concurrency: 32 })]
  }

  /** Returns the process whose model is called next, and the time of the call. */
  async nextCalled(
    among: readonly PostgresProcess[] = this.#processes,
  ): Promise<{ readonly process: PostgresProcess; readonly at: number }> {
    return Promise.race(among.map(async (process) => ({ process, at: (await process.next('called')).at })))
  }

  others(than: PostgresProcess): readonly PostgresProcess[] {
    return this.#processes.filter((process) => process !== than)
  }

  /** Kills a process, also a frozen one. */
  async end(process: PostgresProcess): Promise<void> {
    process.signal('SIGKILL')
    this.#processes = this.others(process)
    await process.stop()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()))
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
