import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Bench } from './harness.ts'

interface Figures {
  readonly startMs: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export const bench: Bench = {
  title: 'Workers',
  text: [
    'An echo agent behind `serveWorker` in a process of its own, under the guard, with the token handshake. *Start* is from `bridge.start()` to the first',
    'session, the median of 9. *Round trip* is one prompt through the bridge to that process and back, warm, 2,000 one after the other. From the build.',
  ].join('\n'),
  run() {
    const [useBuilt, child] = ['use-built.ts', 'worker-child.ts'].map((file) => join(import.meta.dirname, file)) as [string, string]
    const { startMs, p50Ms, p99Ms } = JSON.parse(execFileSync(process.execPath, ['--import', useBuilt, child]).toString()) as Figures
    const row = [startMs.toFixed(0), p50Ms.toFixed(2), p99Ms.toFixed(2)]
    return Promise.resolve({ head: ['start ms', 'round trip p50 ms', 'p99'], rows: [row] })
  },
}
