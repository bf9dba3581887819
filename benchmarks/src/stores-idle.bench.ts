import { median, type Bench } from './harness.ts'
import { runAtOnce, storeNames, withRuntime } from './stores.ts'
import { millisecondsOf } from './turns.ts'

const sizes = [0, 10_000]
const rounds = 21

export const bench: Bench = {
  title: 'One run beside idle sessions',
  text: [
    `From \`send\` to the result of one run of 20 text deltas, while so many other sessions exist and rest. Medians of ${rounds} runs.`,
    'When each claim of the memory and file stores looked at every session, the same took 14.85 ms beside 10,000 idle sessions on the memory',
    'store, and 24.66 ms on the file store.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const store of storeNames) {
      for (const size of sizes) rows.push([store, size.toLocaleString('en'), (await besideIdle(store, size)).toFixed(2)])
    }
    return { head: ['store', 'idle sessions', 'ms'], rows }
  },
}

async function besideIdle(store: string, size: number): Promise<number> {
  return withRuntime(store, async (runtime) => {
    await Promise.all(Array.from({ length: size }, (_, index) => runtime.session(`idle:${index}`).open()))
    await runAtOnce(runtime, 'warm-up', 50)
    const samples: number[] = []
    for (let round = 0; round < rounds; round += 1) samples.push(await millisecondsOf(() => runAtOnce(runtime, `one-${round}`, 1)))
    return median(samples)
  })
}
