import type { MessageEvent } from '@bowline/llm'
import { bareQueue } from './bare-queue.ts'
import { contender as withModel } from './contenders/bowline.ts'
import { contender as withFunction, streamAfter } from './contenders/bowline-function.ts'
import type { Contender } from './contender.ts'
import { measure, type Bench, type Measurement, type Variant } from './harness.ts'
import { runWhole } from './turns.ts'

const sizes = [10_000, 100_000, 1_000_000]

export const bench: Bench = {
  title: 'Cost of a delta in a run',
  text: [
    'One message of text deltas of four characters, each seen by the one reader of the run. *Source* is the same stream read with nothing',
    'around it, *queue* the same through the smallest queue between a writer and a reader. *Function* is a model function that gives a',
    'stream, *model* a model of the AI SDK. The exponent is that of the time over the number of deltas, from the smallest to this one: 1 is linear.',
    'Medians of 5 interleaved rounds.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const [name, contender] of [
      ['function', withFunction],
      ['model', withModel],
    ] as const) {
      const results: (readonly Measurement[])[] = []
      for (const deltas of sizes) results.push(await measureSize(contender, deltas))
      const [first] = results
      rows.push(...results.map((result, place) => rowOf(name, sizes[place] ?? 1, result, first)))
    }
    return { head: ['model', 'deltas', 'source µs/delta', 'queue µs/delta', 'run µs/delta', 'run × queue', 'exponent'], rows }
  },
}

/** The warm-up has the same number of deltas for each size. Otherwise small sizes would include the compilation. */
function measureSize(contender: Contender, deltas: number): Promise<readonly Measurement[]> {
  const answers = [{ text: deltas }]
  const prepared = contender.prepare(answers)
  const variants: readonly Variant[] = [
    { name: 'source', run: () => prepared.bare({}) },
    { name: 'queue', run: () => readThroughQueue(deltas) },
    { name: 'run', run: () => runWhole(prepared, answers) },
  ]
  return measure(variants, { rounds: 5, warmups: Math.max(1, 400_000 / deltas) })
}

/** Measures the minimum cost of a separate reader: one promise per event. */
async function readThroughQueue(deltas: number): Promise<void> {
  const queue = bareQueue<MessageEvent>()
  const write = async (): Promise<void> => {
    for await (const event of streamAfter([{ text: deltas }], 0)) queue.push(event)
    queue.end()
  }
  const written = write()
  let seen = 0
  for await (const event of queue) if (event.type === 'text-delta') seen += 1
  await written
  if (seen !== deltas) throw new Error(`${seen} of ${deltas} deltas arrived`)
}

function rowOf(name: string, deltas: number, [source, queue, run]: readonly Measurement[], first?: readonly Measurement[]): string[] {
  const smallest = first?.[2]
  if (source === undefined || queue === undefined || run === undefined || smallest === undefined) throw new Error('A variant is missing')
  const perDelta = ({ medianMs }: Measurement) => ((medianMs * 1000) / deltas).toFixed(2)
  const [least = deltas] = sizes
  const exponent = deltas === least ? '' : (Math.log(run.medianMs / smallest.medianMs) / Math.log(deltas / least)).toFixed(3)
  return [
    name,
    deltas.toLocaleString('en'),
    perDelta(source),
    perDelta(queue),
    perDelta(run),
    (run.medianMs / queue.medianMs).toFixed(2),
    exponent,
  ]
}
