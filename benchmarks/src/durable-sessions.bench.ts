import { createRuntime } from '@bowline/sessions'
import { contenderAgent } from './contenders/bowline.ts'
import { functionModel } from './contenders/bowline-function.ts'
import { median, type Bench } from './harness.ts'
import { timedCommits, withSqlite } from './sqlite-sample.ts'

const sessions = 1_000
const rounds = 5
const answers = [{ arguments: 1 }, { text: 200 }]

interface Sample {
  readonly totalMs: number
  readonly commits: number
  readonly commitMs: readonly number[]
}

export const bench: Bench = {
  title: 'Sessions at once on SQLite',
  text: [
    `${sessions.toLocaleString('en')} sessions, each sent one input at the same time: a tool call, then 200 text deltas, all durable with \`synchronous=FULL\`, 32 runs at a time. From the first`,
    `\`send\` until the last result. Nothing else happens in the process during a commit: its time is that for which the event loop stands still. Medians of ${rounds} runs.`,
  ].join('\n'),
  async run() {
    const samples: Sample[] = []
    for (let round = 0; round < rounds; round += 1) samples.push(await sample())
    const of = (value: (sample: Sample) => number) => median(samples.map(value))
    const share = (part: number) => of(({ commitMs }) => percentile(commitMs, part)).toFixed(2)
    return {
      head: ['sessions', 's', 'commits', 'ms per commit, median', 'p99', 'longest'],
      rows: [[sessions.toLocaleString('en'), (of((each) => each.totalMs) / 1000).toFixed(2), of((each) => each.commits).toLocaleString('en'), share(0.5), share(0.99), share(1)]],
    }
  },
}

async function sample(): Promise<Sample> {
  return withSqlite(async (sqlite) => {
    const { store, commitMs } = timedCommits(sqlite)
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
      const before = commitMs.length
      const startedAt = performance.now()
      await runAtOnce('session', sessions)
      const totalMs = performance.now() - startedAt
      return { totalMs, commits: commitMs.length - before, commitMs: commitMs.slice(before) }
    } finally {
      await runtime.stop()
    }
  })
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}
