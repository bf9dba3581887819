import { allOf, type Answer, type Contender, type Prepared, type Seen, type Watch } from './contender.ts'
import { median } from './harness.ts'

/** What a process of its own says when its work is done. */
export interface Sample {
  /** In the unit of the workload. */
  readonly value: number
  /** The most memory that the process ever had. */
  readonly peakBytes: number
}

export interface Workload {
  readonly title: string
  readonly unit: string
  /** How much work, when nothing else is asked for. */
  readonly size: number
  /** Does the work once, when all that it needs is loaded and compiled. Gives the value. */
  measure(contender: Contender, size: number): Promise<number>
}

/** How long small work of the same kind goes on before what is measured. Equal for all, fast or slow. */
const warmupMs = 300
/** The same for a process that has been at work for a while, as servers are: all code is compiled. */
const longWarmupMs = 3_000

export const workloads = {
  text: {
    title: 'One message of 80,000 text deltas',
    unit: 'µs per delta',
    size: 80_000,
    measure: async (contender, size) => ((await turnMs(contender, [{ text: 2_000 }], [{ text: size }])) * 1000) / size,
  },
  steps: {
    title: 'One turn of 200 steps with a tool',
    unit: 'ms per step',
    size: 200,
    measure: async (contender, size) => (await turnMs(contender, callsThenText(20), callsThenText(size))) / size,
  },
  'warm-steps': {
    title: 'the same in a process that has worked for three seconds',
    unit: 'ms per step',
    size: 200,
    measure: async (contender, size) => (await turnMs(contender, callsThenText(20), callsThenText(size), longWarmupMs)) / size,
  },
  concurrent: {
    title: '1,000 turns at once, one tool call and 200 deltas each',
    unit: 's',
    size: 1_000,
    async measure(contender, size) {
      const answers = [{ arguments: 1 }, { text: 200 }]
      const prepared = contender.prepare(answers)
      await warmUp(() => runAtOnce(prepared, answers, 10))
      return (await millisecondsOf(() => runAtOnce(prepared, answers, size))) / 1000
    },
  },
  'first-delta': {
    title: 'From the call to the first delta, over the bare model',
    unit: 'µs',
    size: 500,
    measure: (contender, size) => firstDeltaMicroseconds(contender, size, warmupMs),
  },
  'warm-first-delta': {
    title: 'the same in a process that has worked for three seconds',
    unit: 'µs',
    size: 500,
    measure: (contender, size) => firstDeltaMicroseconds(contender, size, longWarmupMs),
  },
  arguments: {
    title: 'Tool arguments of 4,000 deltas',
    unit: 'ms',
    size: 4_000,
    measure: (contender, size) => turnMs(contender, [{ arguments: 100 }, { text: 1 }], [{ arguments: size }, { text: 1 }]),
  },
} satisfies Readonly<Record<string, Workload>>

export type WorkloadName = keyof typeof workloads

export function isWorkloadName(name: string | undefined): name is WorkloadName {
  return name !== undefined && Object.hasOwn(workloads, name)
}

/** So many calls, each in a step of its own, and a last word. */
export function callsThenText(calls: number): readonly Answer[] {
  return [...Array.from({ length: calls }, () => ({ arguments: 1 })), { text: 1 }]
}

/** Runs one turn, and makes sure that what was measured is the whole. */
export async function runWhole(prepared: Prepared, answers: readonly Answer[], watch: Watch = {}): Promise<void> {
  const seen = await prepared.run(watch)
  const wanted = allOf(answers)
  for (const what of Object.keys(wanted) as (keyof Seen)[]) {
    if (seen[what] !== wanted[what]) throw new Error(`${seen[what]} of ${wanted[what]} ${what} arrived`)
  }
}

async function turnMs(contender: Contender, small: readonly Answer[], answers: readonly Answer[], warmMs = warmupMs): Promise<number> {
  const warm = contender.prepare(small)
  await warmUp(() => runWhole(warm, small), warmMs)
  const prepared = contender.prepare(answers)
  return millisecondsOf(() => runWhole(prepared, answers))
}

async function runAtOnce(prepared: Prepared, answers: readonly Answer[], turns: number): Promise<void> {
  await Promise.all(Array.from({ length: turns }, () => runWhole(prepared, answers)))
}

async function warmUp(work: () => Promise<void>, forMs = warmupMs): Promise<void> {
  const endsAt = performance.now() + forMs
  do await work()
  while (performance.now() < endsAt)
}

async function millisecondsOf(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
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
