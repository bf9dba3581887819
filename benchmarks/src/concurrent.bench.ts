import type { Bench } from './harness.ts'
import { ours } from './peers.ts'
import { sampleRounds } from './sample-child.ts'

const sizes = [100, 1_000, 4_000]

export const bench: Bench = {
  title: 'Turns at once',
  text: [
    'So many turns at once, each with one tool call and 200 text deltas behind it, all read. Peak is the most memory that the process ever',
    'had, Node and all code included. Medians of 5 fresh processes.',
  ].join('\n'),
  async run() {
    const works = ours.flatMap(({ name, module }) => sizes.map((size) => ({ name, module, size, workload: 'concurrent' as const })))
    const samples = await sampleRounds(works)
    const rows = works.map(({ name, size }, place) => {
      const { value, peakBytes } = samples[place] ?? { value: NaN, peakBytes: NaN }
      return [name, size.toLocaleString('en'), value.toFixed(3), ((value * 1e6) / size).toFixed(0), (peakBytes / 1024 ** 2).toFixed(0)]
    })
    return { head: ['what', 'turns', 's', 'µs per turn', 'peak MiB'], rows }
  },
}
