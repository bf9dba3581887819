import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Bench } from './harness.ts'
import type { PacedAnswer } from './paced-model.ts'
import { withServer, type ServerProcess } from './server-process.ts'
import { executeBody, executePath, percentile, readEvents, timesIn } from './sse-load.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

const turns = 200

interface Load {
  readonly perSecond: number
  /** Time over which the turns begin. It is about the duration of a turn, so that all are open at the same time. */
  readonly spreadMs: number
}

const loads: readonly Load[] = [
  { perSecond: 25, spreadMs: 8000 },
  { perSecond: 50, spreadMs: 3000 },
]

export const bench: Bench = {
  title: 'Durable turns over HTTP',
  text: [
    `${turns} turns in sessions of their own, open at once, over SQLite with \`synchronous=FULL\`: a text of 100 deltas with a tool call, then another one. They begin`,
    'evenly within a time. *First delta* is from the request to the first delta at the reader, in another process.',
  ].join('\n'),
  run: () =>
    withTemporaryFolder(async (folder) => ({
      head: ['turns', 'begin within s', 'deltas/s of each', 'deltas', 'first delta p50 ms', 'p99', 'longest', 'failed', 'CPU ms per turn'],
      rows: await inTurn(loads, (load, place) => withServer(join(folder, `bench-${place}.sqlite`), (server) => taken(server, load))),
    })),
}

async function inTurn<T, R>(all: readonly T[], work: (each: T, place: number) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const [place, each] of all.entries()) results.push(await work(each, place))
  return results
}

async function taken(server: ServerProcess, { perSecond, spreadMs }: Load): Promise<string[]> {
  const answer: PacedAnswer = { deltas: 100, perSecond, calls: 1 }
  await Promise.all(
    Array.from({ length: 20 }, (_, place) => turn(server.url, `warm-up-${place}`, { deltas: 20, perSecond: 200, calls: 1 })),
  )
  const before = await server.figures()
  const results = await Promise.all(
    Array.from({ length: turns }, async (_, place) => {
      await setTimeout((place * spreadMs) / turns)
      return turn(server.url, `session-${place}`, answer)
    }),
  )
  const { cpuMs } = await server.figures()
  const firstMs = results.map((result) => result.firstMs)
  return [
    String(turns),
    String(spreadMs / 1000),
    String(perSecond),
    results.reduce((sum, { deltas }) => sum + deltas, 0).toLocaleString('en'),
    ...[0.5, 0.99, 1].map((each) => percentile(firstMs, each).toFixed(0)),
    String(results.filter(({ completed }) => !completed).length),
    ((cpuMs - before.cpuMs) / turns).toFixed(1),
  ]
}

async function turn(url: string, sessionId: string, asked: PacedAnswer): Promise<{ firstMs: number; deltas: number; completed: boolean }> {
  const startedAt = performance.now()
  let [firstMs, deltas, completed] = [Infinity, 0, false]
  const { ended } = await readEvents(
    url,
    executePath,
    (data) => {
      const said = timesIn(data).length
      if (said > 0) firstMs = Math.min(firstMs, performance.now() - startedAt)
      deltas += said
      if (data.includes('"type":"execute-complete"') && data.includes('"status":"completed"')) completed = true
    },
    executeBody(sessionId, asked, true),
  )
  await ended.catch(() => (completed = false))
  return { firstMs, deltas, completed }
}
