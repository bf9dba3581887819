import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { defineAgent, defineTool } from '@bowline/agent-loop'
import { createRuntime } from '@bowline/sessions'
import { z } from 'zod'
import { bytesWritten } from './bytes-written.ts'
import { streamAfter } from './contenders/bowline-function.ts'
import { median, type Bench } from './harness.ts'
import { countedCommits, withSqlite } from './sqlite-sample.ts'
import { callsThenText } from './turns.ts'

interface Stretch {
  readonly name: string
  readonly from: number
  readonly to: number
  readonly of: (values: readonly number[]) => number
}

const stretches: readonly Stretch[] = [
  ...[10, 100, 1_000].map((step): Stretch => ({ name: step.toLocaleString('en'), from: step - 5, to: step + 5, of: median })),
  { name: '1 to 200, mean', from: 1, to: 200, of: (values) => values.reduce((sum, value) => sum + value, 0) / values.length },
]
const steps = 1_006
const rounds = 9
/** Number of twelve-character deltas of the model, and number of characters of the tool result: 300 bytes in total. */
const content = { arguments: 12, result: 156 }

interface Sample {
  readonly at: number
  readonly commits: number
  readonly bytes: number
}

interface Run {
  readonly samples: readonly Sample[]
  /** Growth by the whole run, after the log was merged into the database. */
  readonly grownBytes: number
  /** 99th percentile of the lateness of timers. */
  readonly lateMs: number
  /** Time of two commits of one row each in the same file system, a millisecond apart. */
  readonly bareMs: number
}

export const bench: Bench = {
  title: 'A step on SQLite',
  text: [
    `A run of ${steps.toLocaleString('en')} steps with one tool call each, through a session, \`synchronous=FULL\`; arguments and result are 300 bytes together. Of ten steps`,
    `around the named one the median is taken, then that of ${rounds} runs; the mean has the checkpoints of the write-ahead log in it. The commits and all the work of the loop are`,
    'included. *Written* is what the process handed to the file system (log and checkpoints), *grown* what the database has grown by, over the whole run. Equal figures at all',
    'places are the point: what is stored per step does not grow with the conversation. *Late* is how much later than due a timer of the process came, the latest in a hundred: no',
    'commit keeps it from other work for longer. *Bare* are two commits of one row each to a table of its own, a millisecond of work between them: what the disk takes in any case.',
  ].join('\n'),
  async run() {
    const runs: Run[] = []
    for (let round = 0; round < rounds; round += 1) runs.push(await sampledRun())
    const samples = runs.map((run) => run.samples)
    const grown = Math.round(median(runs.map((run) => run.grownBytes)) / steps).toLocaleString('en')
    const late = median(runs.map((run) => run.lateMs)).toFixed(1)
    const bare = median(runs.map((run) => run.bareMs)).toFixed(2)
    return {
      head: ['step', 'commits', 'bytes written', 'bytes grown', 'ms', 'bare ms', 'late ms, p99'],
      rows: stretches.map((stretch) => rowOf(stretch, samples, { grown, late, bare })),
    }
  },
}

/** Runs a turn with one sample per tool call. The difference of two samples is the cost of a step. */
async function sampledRun(): Promise<Run> {
  return withSqlite(async (sqlite, file) => {
    const { store, count } = countedCommits(sqlite)
    const samples: Sample[] = []
    const write = defineTool({
      name: 'write',
      description: 'Writes',
      inputSchema: z.object({ text: z.string() }),
      execute: () => {
        samples.push({ at: performance.now(), commits: count(), bytes: bytesWritten() })
        return 'r'.repeat(content.result)
      },
    })
    const answers = callsThenText(steps - 1, { arguments: content.arguments })
    let step = 0
    const agent = defineAgent({
      name: 'writer',
      model: () => streamAfter(answers, step++),
      tools: [write],
      limits: { maxSteps: steps + 1, maxToolCalls: steps + 1 },
    })
    const runtime = createRuntime({ agents: [agent], store })
    try {
      await runtime.start()
      const before = databaseBytes(file)
      const delays = monitorEventLoopDelay({ resolution: 1 })
      delays.enable()
      const { status } = await (await runtime.session('bench').send('write')).result()
      if (status !== 'completed' || samples.length !== steps - 1) throw new Error(`The run ended ${status} after ${samples.length} calls`)
      delays.disable()
      return {
        samples,
        grownBytes: databaseBytes(file) - before,
        lateMs: delays.percentile(99) / 1e6,
        bareMs: bareCommitsMs(`${file}-bare`),
      }
    } finally {
      await runtime.stop()
    }
  })
}

function rowOf(
  { name, from, to, of }: Stretch,
  runs: readonly (readonly Sample[])[],
  { grown, late, bare }: Readonly<Record<'grown' | 'late' | 'bare', string>>,
): string[] {
  const perStep = (field: keyof Sample) => median(runs.map((samples) => of(differences(samples.slice(from - 1, to), field))))
  const bytes = perStep('bytes')
  return [
    name,
    perStep('commits').toFixed(1),
    Number.isNaN(bytes) ? '–' : Math.round(bytes).toLocaleString('en'),
    grown,
    perStep('at').toFixed(2),
    bare,
    late,
  ]
}

function differences(samples: readonly Sample[], field: keyof Sample): readonly number[] {
  return samples.slice(1).map((sample, index) => sample[field] - (samples[index]?.[field] ?? NaN))
}

function bareCommitsMs(file: string): number {
  const database = new DatabaseSync(file)
  database.exec('pragma journal_mode = wal; pragma synchronous = full; create table bare (n integer primary key, body text)')
  const insert = database.prepare('insert into bare (body) values (?)')
  const body = 'x'.repeat(300)
  const times = Array.from({ length: 200 }, () => {
    const workedUntil = performance.now() + 1
    while (performance.now() < workedUntil);
    const startedAt = performance.now()
    insert.run(body)
    return performance.now() - startedAt
  })
  database.close()
  return 2 * median(times)
}

function databaseBytes(file: string): number {
  const database = new DatabaseSync(file)
  database.exec('pragma wal_checkpoint(passive)')
  const [pages, pageBytes] = ['page_count', 'page_size'].map((name) =>
    Number(Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0]),
  )
  database.close()
  return (pages ?? NaN) * (pageBytes ?? NaN)
}
