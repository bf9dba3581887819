import type { Bench } from './harness.ts'
import { ours } from './peers.ts'
import { sampleRounds } from './sample-child.ts'

export const bench: Bench = {
  title: 'Time to the first delta of a run',
  text: [
    'From `agent.run` to its first text delta in the reader’s hands, one run after the other, less the same of the bare model. Medians of',
    '500 calls in each of 5 fresh processes.',
  ].join('\n'),
  async run() {
    const samples = await sampleRounds(ours.map(({ module }) => ({ module, workload: 'first-delta' })))
    return {
      head: ['what', 'µs over the model'],
      rows: ours.map(({ name }, place) => [name, (samples[place]?.value ?? NaN).toFixed(1)]),
    }
  },
}
