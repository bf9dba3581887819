import { execFileSync } from 'node:child_process'
import { allOf, type Answer, type Contender, type Prepared, type Unable, type Watch } from './contender.ts'
import { median } from './harness.ts'
import { callsThenText, checkSeen, millisecondsOf, runWhole, warmUp, warmupMs } from './turns.ts'
import type { Figures, Row, Workload } from './workload.ts'

/** Workload whose figure depends on how long the process has been running. */
interface TimedWorkload extends Omit<Workload, 'measure'> {
  readonly measure: (contender: Contender, size: number, warmMs: number) => Promise<Figures>
}

/** After this time all code of a process is compiled, as in a server. */
const longWarmupMs = 3_000

const text: TimedWorkload = {
  title: 'One message of 80,000 text deltas',
  unit: 'µs per delta',
  size: 80_000,
  async measure(contender, size, warmMs) {
    return { value: ((await turnMs(contender, [{ text: 2_000 }], [{ text: size }], warmMs)) * 1000) / size }
  },
}

const steps: TimedWorkload = {
  title: 'One turn of 200 steps with a tool',
  unit: 'ms per step',
  size: 200,
  async measure(contender, size, warmMs) {
    return { value: (await turnMs(contender, callsThenText(20), callsThenText(size), warmMs)) / size }
  },
}

const firstDelta: TimedWorkload = {
  title: 'From the call to the first delta, over the bare model',
  unit: 'µs',
  size: 500,
  async measure(contender, size, warmMs) {
    return { value: await firstDeltaMicroseconds(contender, size, warmMs) }
  },
}

const concurrent: TimedWorkload = {
  title: '1,000 turns at once, one tool call and 200 deltas each',
  unit: 's',
  size: 1_000,
  furtherRows: [{ title: 'the same: peak', unit: 'MiB', valueOf: ({ peakBytes }) => peakBytes / 1024 ** 2 }],
  async measure(contender, size, warmMs) {
    const answers = [{ arguments: 1 }, { text: 200 }]
    const prepared = contender.prepare(answers)
    await warmUp(() => runAtOnce(prepared, answers, 10), warmMs)
    return { value: (await millisecondsOf(() => runAtOnce(prepared, answers, size))) / 1000 }
  },
}

const toolArguments: TimedWorkload = {
  title: 'Tool arguments of 4,000 deltas',
  unit: 'ms',
  size: 4_000,
  async measure(contender, size, warmMs) {
    return { value: await turnMs(contender, [{ arguments: 100 }, { text: 1 }], [{ arguments: size }, { text: 1 }], warmMs) }
  },
}

export const memoryWorkloads = {
  text: young(text),
  'warm-text': warm(text),
  steps: young(steps),
  'warm-steps': warm(steps),
  'first-delta': young(firstDelta),
  'warm-first-delta': warm(firstDelta),
  concurrent: young(concurrent),
  'warm-concurrent': warm(concurrent),
  arguments: young(toolArguments),
  'warm-arguments': warm(toolArguments),
  'warm-turn': {
    title: 'A turn of one delta in a process that has worked for three seconds, agent defined once',
    unit: 'µs',
    size: 1_000,
    async measure(contender, size) {
      const answers = [{ text: 1 }]
      const prepared = contender.prepare(answers)
      const runTurns = async (turns: number) => {
        for (let turn = 0; turn < turns; turn += 1) await runWhole(prepared, answers)
      }
      await warmUp(() => runTurns(10), longWarmupMs)
      return { value: ((await millisecondsOf(() => runTurns(size))) * 1000) / size }
    },
  },
  readers: {
    title: 'Ten readers of a message of 10,000 deltas against one',
    unit: '×',
    size: 10_000,
    measure: (contender, size) => readersRatio(contender, size),
  },
  import: {
    title: 'Import of the package',
    unit: 'ms',
    size: 1,
    async measure({ packageUrl }) {
      // Loads the files into the page cache, from which another workload may have removed them.
      importMs(packageUrl)
      return { value: importMs(packageUrl) }
    },
  },
} satisfies Readonly<Record<string, Workload>>

function young({ measure, ...rest }: TimedWorkload): Workload {
  return { ...rest, measure: (contender, size) => measure(contender, size, warmupMs) }
}

function warm({ title: _, furtherRows = [], measure, ...rest }: TimedWorkload): Workload {
  const rows = furtherRows.map((row): Row => ({ ...row, title: `${row.title}, after three seconds` }))
  return {
    ...rest,
    title: 'the same in a process that has worked for three seconds',
    furtherRows: rows,
    measure: (contender, size) => measure(contender, size, longWarmupMs),
  }
}

async function turnMs(contender: Contender, small: readonly Answer[], answers: readonly Answer[], warmMs: number): Promise<number> {
  const warmed = contender.prepare(small)
  await warmUp(() => runWhole(warmed, small), warmMs)
  const prepared = contender.prepare(answers)
  return millisecondsOf(() => runWhole(prepared, answers))
}

async function runAtOnce(prepared: Prepared, answers: readonly Answer[], turns: number): Promise<void> {
  await Promise.all(Array.from({ length: turns }, () => runWhole(prepared, answers)))
}

/** Returns the median time of sequential calls, minus that of the bare model. */
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

/** Compares medians of three turns each. Turns with one reader and with ten readers alternate. */
async function readersRatio(contender: Contender, size: number): Promise<Figures | Unable> {
  const small = contender.prepare([{ text: 500 }]).runWithReaders
  const large = contender.prepare([{ text: size }]).runWithReaders
  if ('unable' in small) return small
  if ('unable' in large) return large
  const read = async (run: typeof small, deltas: number, readers: number) => {
    const seen = await run(readers)
    if (seen.length !== readers) throw new Error(`${seen.length} of ${readers} readers have read`)
    for (const each of seen) checkSeen(each, allOf([{ text: deltas }]))
  }
  await warmUp(async () => void [await read(small, 500, 1), await read(small, 500, 10)])
  const [oneMs, tenMs]: [number[], number[]] = [[], []]
  for (let round = 0; round < 3; round += 1) {
    oneMs.push(await millisecondsOf(() => read(large, size, 1)))
    tenMs.push(await millisecondsOf(() => read(large, size, 10)))
  }
  return { value: median(tenMs) / median(oneMs) }
}

/** Measures the import in a process that does nothing else and has no compile cache. */
function importMs(url: string): number {
  const script = `const at = performance.now(); await import(${JSON.stringify(url)}); process.stdout.write('\\n' + (performance.now() - at), () => process.exit(0))`
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { env })
  return Number(output.toString().split('\n').at(-1))
}
