import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime, type SessionStore } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { z } from 'zod'
import { streamAfter } from './contenders/bowline-function.ts'
import { isShort, median, type Bench } from './harness.ts'
import { walBytes, withPostgres, type BenchServer } from './postgres-server.ts'
import { countedCommits, withSqlite } from './sqlite-sample.ts'
import { callsThenText } from './turns.ts'

const places = isShort ? [10, 60] : [10, 100, 1_000]
const steps = Math.max(...places) + 6
const rounds = isShort ? 1 : 5
/** Number of twelve-character deltas of the model, and number of characters of the tool result: 300 bytes in total. */
const content = { arguments: 12, result: 156 }

/** Counters at the time of the tool call and of its result. */
interface Sample {
  readonly calledAt: number
  readonly answeredAt: number
  readonly commits: number
  readonly bytes: number
}

export const bench: Bench = {
  title: 'A step on Postgres and on SQLite',
  text: [
    `A run of ${steps.toLocaleString('en')} steps with one tool call each, through a session; arguments and result are 300 bytes together. Both wait for the disk at each commit: SQLite with`,
    `\`synchronous=FULL\`, Postgres through a socket with the settings of a new server. Of ten steps around the named one the median is taken, then that of ${rounds} interleaved runs. From the answer of`,
    'the tool until its next call. *Log bytes* is what the server has written into its write-ahead log. Equal figures at all places are the point.',
  ].join('\n'),
  async run() {
    const runs: Record<'SQLite' | 'Postgres', (readonly Sample[])[]> = { SQLite: [], Postgres: [] }
    for (let round = 0; round < rounds; round += 1) {
      runs.SQLite.push(await withSqlite((store) => sampledRun(store, () => NaN)))
      runs.Postgres.push(await withPostgres(postgresRun))
    }
    return {
      head: ['store', 'step', 'ms', 'commits', 'log bytes'],
      rows: Object.entries(runs).flatMap(([name, samples]) => places.map((place) => rowOf(name, place, samples))),
    }
  },
}

async function postgresRun(server: BenchServer): Promise<readonly Sample[]> {
  return sampledRun(postgresStore({ connectionString: server.url }), () => walBytes(server))
}

/** Runs a turn and samples every step. The bytes are read only around the reported steps, because reading takes a round trip. */
async function sampledRun(given: SessionStore, bytesNow: () => Promise<number> | number): Promise<readonly Sample[]> {
  const { store, count } = countedCommits(given)
  const samples: Sample[] = []
  const write = defineTool({
    name: 'write',
    description: 'Writes',
    inputSchema: z.object({ text: z.string() }),
    execute: async () => {
      const calledAt = performance.now()
      const step = samples.length + 1
      const bytes = places.some((place) => isAround(place, step)) ? await bytesNow() : NaN
      samples.push({ calledAt, commits: count(), bytes, answeredAt: performance.now() })
      return 'r'.repeat(content.result)
    },
  })
  const answers = callsThenText(steps - 1, { arguments: content.arguments })
  let step = 0
  const limits = { maxSteps: steps + 1, maxToolCalls: steps + 1 }
  const agent = defineAgent({ name: 'writer', model: () => streamAfter(answers, step++), tools: [write], limits })
  const runtime = createRuntime({ agents: [agent], store })
  try {
    await runtime.start()
    const { status } = await (await runtime.session('bench').send('write')).result()
    if (status !== 'completed' || samples.length !== steps - 1) throw new Error(`The run ended ${status} after ${samples.length} calls`)
    return samples
  } finally {
    await runtime.stop()
  }
}

function isAround(place: number, step: number): boolean {
  return step >= place - 5 && step <= place + 5
}

function rowOf(name: string, place: number, runs: readonly (readonly Sample[])[]): string[] {
  const perStep = (of: (sample: Sample, before: Sample) => number) =>
    median(runs.map((samples) => median(differences(samples.slice(place - 6, place + 5), of))))
  const ms = perStep((sample, before) => sample.calledAt - before.answeredAt)
  const commits = perStep((sample, before) => sample.commits - before.commits)
  const bytes = perStep((sample, before) => sample.bytes - before.bytes)
  return [
    name,
    place.toLocaleString('en'),
    ms.toFixed(2),
    commits.toFixed(1),
    Number.isNaN(bytes) ? '–' : Math.round(bytes).toLocaleString('en'),
  ]
}

function differences(samples: readonly Sample[], of: (sample: Sample, before: Sample) => number): readonly number[] {
  return samples.slice(1).flatMap((sample, index) => {
    const before = samples[index]
    return before ? [of(sample, before)] : []
  })
}
