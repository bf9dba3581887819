import { monitorEventLoopDelay } from 'node:perf_hooks'
import { median, type Bench } from './harness.ts'
import { runAtOnce, storeNames, withRuntime } from './stores.ts'
import { millisecondsOf } from './turns.ts'

const runs = 2_000
const rounds = 3

interface Sample {
  readonly totalMs: number
  readonly p99Ms: number
  readonly maxMs: number
}

export const bench: Bench = {
  title: 'Runs at once by store',
  text: [
    `${runs.toLocaleString('en')} sessions, each sent one input at the same time and answered in 20 text deltas, 32 runs at a time, every store with its defaults. From the first`,
    `\`send\` until the last result. *Late* is how much later than due a timer of the same process came meanwhile. Medians of ${rounds} runs.`,
    'When each claim looked at every session and no commit waited for its turn, the same took 5.72 s with timers 234 ms late (p99) on the',
    'memory store, and 6.77 s with timers 157 ms late on the file store.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const store of storeNames) {
      const samples: Sample[] = []
      for (let round = 0; round < rounds; round += 1) samples.push(await sample(store))
      const of = (value: (sample: Sample) => number) => median(samples.map(value))
      rows.push([
        store,
        (of(({ totalMs }) => totalMs) / 1000).toFixed(2),
        of(({ p99Ms }) => p99Ms).toFixed(1),
        of(({ maxMs }) => maxMs).toFixed(1),
      ])
    }
    return { head: ['store', 's', 'late ms, p99', 'longest'], rows }
  },
}

async function sample(store: string): Promise<Sample> {
  return withRuntime(store, async (runtime) => {
    await runAtOnce(runtime, 'warm-up', 100)
    const delays = monitorEventLoopDelay({ resolution: 1 })
    delays.enable()
    const totalMs = await millisecondsOf(() => runAtOnce(runtime, 'session', runs))
    delays.disable()
    return { totalMs, p99Ms: delays.percentile(99) / 1e6, maxMs: delays.max / 1e6 }
  })
}
