import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { z } from 'zod'
import { median, type Bench } from './harness.ts'

const steps = 106
const rounds = 9

interface Sample {
  readonly at: number
  readonly commits: number
  readonly bytes: number
}

export const bench: Bench = {
  title: 'A step on SQLite',
  text: [
    `A run of ${steps} steps with one tool call each, through a session, \`synchronous=FULL\`. Medians over ${rounds} runs of ten steps around the named one.`,
    'Bytes are what the process handed to the file system (write-ahead log and checkpoints). Equal figures at step 10 and step 100 are the',
    'point: what is stored per step does not grow with the conversation.',
  ].join('\n'),
  async run() {
    const runs: (readonly Sample[])[] = []
    for (let round = 0; round < rounds; round += 1) runs.push(await sampledRun())
    return {
      head: ['step', 'commits', 'bytes written', 'ms'],
      rows: [10, 50, 100].map((step) => rowOf(step, runs)),
    }
  },
}

/** One sample per tool call; the difference of two is what a step cost. */
async function sampledRun(): Promise<readonly Sample[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bowline-bench-'))
  const samples: Sample[] = []
  let commits = 0
  const sqlite = sqliteStore({ file: join(folder, 'bench.sqlite') })
  const store = new Proxy(sqlite, {
    get(target, key) {
      if (key === 'commit') commits += 1
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const tick = defineTool({
    name: 'tick',
    description: 'Counts',
    inputSchema: z.object({ note: z.string() }),
    effect: 'pure',
    execute: () => {
      samples.push({ at: performance.now(), commits, bytes: bytesWritten() })
      return 'counted'
    },
  })
  const model = scriptedModel((_call, index) =>
    index < steps - 1 ? { toolCalls: [{ name: 'tick', input: { note: noteOf(index) } }] } : { text: 'done' },
  )
  const agent = defineAgent({ name: 'counter', model, tools: [tick], limits: { maxSteps: steps + 1 } })
  const runtime = createRuntime({ agents: [agent], store })
  try {
    await runtime.start()
    const run = await runtime.session('bench').send('count')
    const { status } = await run.result()
    if (status !== 'completed' || samples.length !== steps - 1) throw new Error(`The run ended ${status} after ${samples.length} calls`)
    return samples
  } finally {
    await runtime.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Of the same size at each step, and never the same: the loop guard would stop a run that goes round in circles. */
function noteOf(index: number): string {
  return `step number ${String(index).padStart(4, '0')}`
}

function rowOf(step: number, runs: readonly (readonly Sample[])[]): string[] {
  const perStep = (field: keyof Sample) =>
    median(
      runs.map((samples) => {
        const first = samples[step - 6]
        const last = samples[step + 4] ?? samples.at(-1)
        if (first === undefined || last === undefined) throw new Error(`Step ${step} is outside of the run`)
        return (last[field] - first[field]) / (samples.indexOf(last) - samples.indexOf(first))
      }),
    )
  const bytes = perStep('bytes')
  return [String(step), perStep('commits').toFixed(1), Number.isNaN(bytes) ? '–' : Math.round(bytes).toLocaleString('en'), perStep('at').toFixed(2)]
}

/** NaN where the system does not count it. */
function bytesWritten(): number {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? NaN)
  } catch {
    return NaN
  }
}
