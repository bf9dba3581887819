import { defineAgent } from '@bowline/agent-loop'
import { streamMessage } from '@bowline/llm'
import { streamText } from 'ai'
import { measure, type Bench, type Measurement, type Variant } from './harness.ts'
import { drain, textModel, type SourceShape } from './models.ts'

const sizes = [10_000, 40_000, 100_000]
const shapes: readonly SourceShape[] = ['pull', 'piped']

export const bench: Bench = {
  title: 'Cost of a delta',
  text: [
    'Text deltas of four characters. *Drain* reads the model’s stream and makes nothing of it; *message* is `streamMessage` read by',
    '`for await`; *run* is `agent.run` with one reader; *streamText* is the AI SDK’s, for comparison and only for the smallest number.',
    '*Pull* is a source that makes one part per read, *piped* the same through one `TransformStream`, the shape that provider clients have.',
    'Factors are against the drain of the same source.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const shape of shapes) {
      for (const deltas of sizes) {
        // The warm-up has the same number of deltas for each size. Otherwise small sizes would include the compilation.
        const warmups = 400_000 / deltas
        rows.push(rowOf(shape, deltas, await measure(variants(deltas, shape), { warmups })))
      }
    }
    return {
      head: ['source', 'deltas', 'drain ms', 'message µs/delta', 'run µs/delta', 'streamText µs/delta', 'message ×', 'run ×'],
      rows,
    }
  },
}

function variants(deltas: number, shape: SourceShape): readonly Variant[] {
  const model = textModel(deltas, shape)
  const agent = defineAgent({ name: 'reader', model })
  const ours: readonly Variant[] = [
    { name: 'drain', run: () => drain(model) },
    { name: 'message', run: () => readAll(streamMessage({ model, messages: [{ role: 'user', content: 'go' }] }), deltas) },
    { name: 'run', run: () => readAll(agent.run('go'), deltas) },
  ]
  const peer: Variant = { name: 'streamText', run: () => readAll(streamText({ model, prompt: 'go' }).fullStream, deltas) }
  return deltas === sizes[0] ? [...ours, peer] : ours
}

/** Reads to the end, and checks that all deltas were measured. */
async function readAll(events: AsyncIterable<{ readonly type: string }>, deltas: number): Promise<void> {
  let seen = 0
  for await (const event of events) if (event.type === 'text-delta') seen += 1
  if (seen !== deltas) throw new Error(`${seen} of ${deltas} deltas arrived`)
}

function rowOf(shape: SourceShape, deltas: number, [bare, message, run, peer]: readonly Measurement[]): string[] {
  if (bare === undefined || message === undefined || run === undefined) throw new Error('A variant is missing')
  const perDelta = (result?: Measurement) => (result ? ((result.medianMs * 1000) / deltas).toFixed(2) : '')
  const factor = (result: Measurement) => (result.medianMs / bare.medianMs).toFixed(2)
  return [
    shape,
    deltas.toLocaleString('en'),
    bare.medianMs.toFixed(1),
    perDelta(message),
    perDelta(run),
    perDelta(peer),
    factor(message),
    factor(run),
  ]
}
