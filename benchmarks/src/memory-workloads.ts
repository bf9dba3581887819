import type { Answer, Contender, Prepared, Watch } from './contender.ts'
import { median } from './harness.ts'
import { callsThenText, millisecondsOf, runWhole, warmUp, warmupMs } from './turns.ts'
import type { Workload } from './workload.ts'

/** The same for a process that has been at work for a while, as servers are: all code is compiled. */
const longWarmupMs = 3_000

export const memoryWorkloads = {
  text: {
    title: 'One message of 80,000 text deltas',
    unit: 'µs per delta',
    size: 80_000,
    measure: async (contender, size) => ({ value: ((await turnMs(contender, [{ text: 2_000 }], [{ text: size }])) * 1000) / size }),
  },
  steps: {
    title: 'One turn of 200 steps with a tool',
    unit: 'ms per step',
    size: 200,
    measure: async (contender, size) => ({ value: (await turnMs(contender, callsThenText(20), callsThenText(size))) / size }),
  },
  'warm-steps': {
    title: 'the same in a process that has worked for three seconds',
    unit: 'ms per step',
    size: 200,
    async measure(contender, size) {
      return { value: (await turnMs(contender, callsThenText(20), callsThenText(size), longWarmupMs)) / size }
    },
  },
  concurrent: {
    title: '1,000 turns at once, one tool call and 200 deltas each',
    unit: 's',
    size: 1_000,
    furtherRows: [{ title: 'the same: peak', unit: 'MiB', valueOf: ({ peakBytes }) => peakBytes / 1024 ** 2 }],
    async measure(contender, size) {
      const answers = [{ arguments: 1 }, { text: 200 }]
      const prepared = contender.prepare(answers)
      await warmUp(() => runAtOnce(prepared, answers, 10))
      return { value: (await millisecondsOf(() => runAtOnce(prepared, answers, size))) / 1000 }
    },
  },
  'first-delta': {
    title: 'From the call to the first delta, over the bare model',
    unit: 'µs',
    size: 500,
    measure: async (contender, size) => ({ value: await firstDeltaMicroseconds(contender, size, warmupMs) }),
  },
  'warm-first-delta': {
    title: 'the same in a process that has worked for three seconds',
    unit: 'µs',
    size: 500,
    measure: async (contender, size) => ({ value: await firstDeltaMicroseconds(contender, size, longWarmupMs) }),
  },
  arguments: {
    title: 'Tool arguments of 4,000 deltas',
    unit: 'ms',
    size: 4_000,
    async measure(contender, size) {
      return { value: await turnMs(contender, [{ arguments: 100 }, { text: 1 }], [{ arguments: size }, { text: 1 }]) }
    },
  },
} satisfies Readonly<Record<string, Workload>>

async function turnMs(contender: Contender, small: readonly Answer[], answers: readonly Answer[], warmMs = warmupMs): Promise<number> {
  const warm = contender.prepare(small)
  await warmUp(() => runWhole(warm, small), warmMs)
  const prepared = contender.prepare(answers)
  return millisecondsOf(() => runWhole(prepared, answers))
}

async function runAtOnce(prepared: Prepared, answers: readonly Answer[], turns: number): Promise<void> {
  await Promise.all(Array.from({ length: turns }, () => runWhole(prepared, answers)))
}

/** The median of what one call after the other needed, less the same of the bare model. */
async function firstDeltaMicroseconds(contender: Contender, calls: number, warmMs: number): Promise<number> {
  const answers = [{ text: 1 }]
  const prepared = contender.prepare(answers)
  const bare = () => firstTextMs((watch) => prepared.bare(watch))
  const called = () => firstTextMs((watch) => runWhole(prepared, answers, watch))
  await warmUp(async () => void [await bare(), await called()], warmMs)
  const bareMs: number[] = []
  const calledMs: number[] = []
  for (let call = 0; call < calls; call += 1) {
    bareMs.push(await bare())
    calledMs.push(await called())
  }
  return (median(calledMs) - median(bareMs)) * 1000
}

async function firstTextMs(work: (watch: Watch) => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  let arrivedAt: number | undefined
  await work({ onText: () => (arrivedAt ??= performance.now()) })
  if (arrivedAt === undefined) throw new Error('No delta arrived')
  return arrivedAt - startedAt
}
