import type { Runtime } from '@bowline/sessions'
import { sharedNow, type PacedAnswer } from './paced-model.ts'
import type { PostgresProcess } from './postgres-process.ts'
import { percentile } from './sse-load.ts'

/** Number of trials by signal. */
export type Trials = Readonly<Record<'SIGKILL' | 'SIGSTOP', number>>

/** Longer than the benchmark: no caller waits for its end. */
const endless: PacedAnswer = { deltas: 1_000_000, perSecond: 5 }

interface PairOptions {
  readonly start: () => Promise<PostgresProcess>
  /** Called when both processes listen. Default: does nothing. */
  readonly onFull?: (processes: readonly PostgresProcess[]) => void
}

/** Two processes that execute runs. */
export class Pair {
  readonly #options: PairOptions
  #processes: readonly PostgresProcess[] = []

  constructor(options: PairOptions) {
    this.#options = options
  }

  async fill(): Promise<void> {
    while (this.#processes.length < 2) this.#processes = [...this.#processes, await this.#options.start()]
    this.#options.onFull?.(this.#processes)
  }

  /** Returns the process whose model is called next, and the time of the call. */
  async nextCalled(among = this.#processes): Promise<{ readonly process: PostgresProcess; readonly at: number }> {
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
    await Promise.all(this.#processes.map((process) => this.end(process)))
  }
}

/** Heading of the rows of `takeOverRows`. */
export const takeOverHead = ['signal', 'times', 'p50 ms', 'longest']

/** Measures the time from a signal to the process that executes a run until the other one calls the model for this run. */
export async function takeOverRows(runtime: Runtime, pair: Pair, trials: Trials): Promise<string[][]> {
  const rows: string[][] = []
  for (const signal of ['SIGKILL', 'SIGSTOP'] as const) rows.push(rowOf(signal, await takeOverTimes(runtime, pair, signal, trials[signal])))
  return rows
}

async function takeOverTimes(runtime: Runtime, pair: Pair, signal: keyof Trials, count: number): Promise<readonly number[]> {
  const times: number[] = []
  while (times.length < count) {
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
