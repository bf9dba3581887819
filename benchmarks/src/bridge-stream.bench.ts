import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { StreamFigures } from './bridge-stream-child.ts'
import type { Bench } from './harness.ts'

const megabytes = 100

export const bench: Bench = {
  title: 'A worker and a slow reader',
  text: [
    `${megabytes} MB from a worker in pieces of 64 kB; its reader waits a millisecond after each. *Text* is read from the executor, which keeps nothing: the worker has to wait. *Progress* is read from a`,
    'run of the bridge, which waits for no reader: it is shown the newest. Heap is the highest after a collection, RSS the most that the process of the bridge had.',
  ].join('\n'),
  run() {
    const rows = ['text', 'progress'].map((kind) => {
      const child = join(import.meta.dirname, 'bridge-stream-child.ts')
      const figures = JSON.parse(
        execFileSync(process.execPath, ['--expose-gc', child, kind, String(megabytes)]).toString(),
      ) as StreamFigures
      const inMegabytes = (bytes: number): string => (bytes / 1e6).toFixed(0)
      return [
        kind,
        figures.seconds.toFixed(1),
        figures.megabytes.toFixed(1),
        inMegabytes(figures.peakHeapBytes),
        inMegabytes(figures.peakRssBytes),
      ]
    })
    return Promise.resolve({ head: ['what', 's', 'read MB', 'heap MB', 'RSS MB'], rows })
  },
}
