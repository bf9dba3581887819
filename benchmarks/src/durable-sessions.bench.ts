import { monitorEventLoopDelay } from 'node:perf_hooks'
import { createRuntime } from '@bowline/sessions'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { median, type Bench } from './harness.ts'
import { countedCommits, withSqlite } from './sqlite-sample.ts'

const sessions = 1_000
const rounds = 5
const answers = [{ arguments: 1 }, { text: 200 }]

interface Sample {
  readonly totalMs: number
  readonly commits: number
  /** Lateness of timers: the time for which the process was blocked. */
  readonly late: { readonly p99Ms: number; readonly maxMs: number }
}

export const bench: Bench = {
  title: 'Sessions at once on SQLite',
  text: [
    `${sessions.toLocaleString('en')} sessions, each sent one input at the same time: a tool call, then 200 text deltas, all durable with \`synchronous=FULL\`, 32 runs at a time. From the first`,
    `\`send\` until the last result. *Late* is how much later than due a timer of the same process came meanwhile. Medians of ${rounds} runs.`,
  ].join('\n'),
  async run() {
    const samples: Sample[] = []
    for (let round = 0; round < rounds; round += 1) samples.push(await sample())
    const of = (value: (sample: Sample) => number) => median(samples.map(value))
    const late = [of((each) => each.late.p99Ms), of((each) => each.late.maxMs)].map((ms) => ms.toFixed(1))
    const seconds = (of((each) => each.totalMs) / 1000).toFixed(2)
    return {
      head: ['sessions', 's', 'commits', 'late ms, p99', 'longest'],
      rows: [[sessions.toLocaleString('en'), seconds, of((each) => each.commits).toLocaleString('en'), ...late]],
    }
  },
}

async function sample(): Promise<Sample> {
  return withSqlite(async (sqlite) => {
    const { store, count } = countedCommits(sqlite)
    const runtime = createRuntime({ agents: [contenderAgent(functionModel(answers), answers.length)], store })
    const runAtOnce = async (name: string, count: number): Promise<void> => {
      const runs = await Promise.all(Array.from({ length: count }, (_, index) => runtime.session(`${name}:${index}`).send('go')))
      const results = await Promise.all(runs.map((run) => run.result()))
      const failed = results.find(({ status }) => status !== 'completed')
      if (failed) throw new Error(`A run ended ${failed.status}`)
    }
    try {
      await runtime.start()
      await runAtOnce('warm-up', 100)
      const before = count()
      const delays = monitorEventLoopDelay({ resolution: 1 })
      delays.enable()
      const startedAt = performance.now()
      await runAtOnce('session', sessions)
      const totalMs = performance.now() - startedAt
      delays.disable()
      const late = { p99Ms: delays.percentile(99) / 1e6, maxMs: delays.max / 1e6 }
      return { totalMs, commits: count() - before, late }
    } finally {
      await runtime.stop()
    }
  })
}
