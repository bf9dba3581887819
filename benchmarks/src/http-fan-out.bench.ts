import type { Bench } from './harness.ts'
import { sharedNow, type PacedAnswer } from './paced-model.ts'
import { withServer, type ServerProcess } from './server-process.ts'
import { eventsPath, executeBody, executePath, percentile, readEvents, timesIn } from './sse-load.ts'

interface Load {
  readonly name: string
  readonly sessions: number
  readonly readersOfEach: number
  readonly answer: PacedAnswer
}

const loads: readonly Load[] = [
  { name: 'one reader, full speed', sessions: 1, readersOfEach: 1, answer: { deltas: 200_000 } },
  { name: '200 readers of one session, 100 deltas/s', sessions: 1, readersOfEach: 200, answer: { deltas: 500, perSecond: 100 } },
  { name: '200 sessions, 50 deltas/s each', sessions: 200, readersOfEach: 1, answer: { deltas: 250, perSecond: 50 } },
]

export const bench: Bench = {
  title: 'Deltas over SSE',
  text: [
    'A server over a memory store in one process, its readers in another. *Run* is the CPU time of the server for each delta of a turn that nobody reads;',
    '*read* is what is added for each delta that reaches a reader. *Frames* are what they came in: those that a reader had not taken yet are joined. *Delay* is',
    'from the word of the model to the reader.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const load of loads) rows.push(await withServer(undefined, (server) => carried(server, load)))
    return { head: ['load', 'deltas', 'frames', 'run µs/delta', 'read µs/delta', 'deltas/s', 'delay p50 ms', 'p99', 'longest'], rows }
  },
}

async function carried(server: ServerProcess, { name, sessions, readersOfEach, answer }: Load): Promise<string[]> {
  const ids = Array.from({ length: sessions }, (_, place) => `session-${place}`)
  const turn = async (id: string, asked: PacedAnswer, isNew: boolean): Promise<void> =>
    (await readEvents(server.url, executePath, () => undefined, { ...executeBody(id, asked, isNew), options: { deltas: false } })).ended
  const cpuOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = await server.figures()
    await work()
    return (await server.figures()).cpuMs - before.cpuMs
  }
  await Promise.all(ids.map((id) => turn(id, { deltas: 1000 }, true)))
  const runMs = await cpuOf(() => Promise.all(ids.map((id) => turn(id, answer, false))))

  const delays: number[] = []
  let frames = 0
  const read = (id: string) =>
    readEvents(server.url, eventsPath(id, '?from=now'), (data) => {
      const now = sharedNow()
      const times = timesIn(data)
      if (times.length > 0) frames += 1
      for (const time of times) delays.push(now - time)
    })
  const readers = await Promise.all(ids.flatMap((id) => Array.from({ length: readersOfEach }, () => read(id))))
  const startedAt = performance.now()
  const readMs = await cpuOf(() => Promise.all(ids.map((id) => turn(id, answer, false))))
  const seconds = (performance.now() - startedAt) / 1000
  for (const reader of readers) reader.leave()
  const whole = sessions * readersOfEach * answer.deltas
  const share = delays.length === whole ? '' : ` (of ${whole.toLocaleString('en')})`
  return [
    name,
    delays.length.toLocaleString('en') + share,
    frames.toLocaleString('en'),
    ((runMs * 1000) / (sessions * answer.deltas)).toFixed(2),
    (((readMs - runMs) * 1000) / delays.length).toFixed(2),
    Math.round(delays.length / seconds).toLocaleString('en'),
    ...[0.5, 0.99, 1].map((each) => percentile(delays, each).toFixed(1)),
  ]
}
