import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Bench } from './harness.ts'
import { withServer, type ServerProcess } from './server-process.ts'
import { ask, eventsPath, executeBody, executePath, percentile, readEvents } from './sse-load.ts'
import { withTemporaryFolder } from './temporary-folder.ts'

const readers = 2_000
const sessions = 200
const heartbeats = 1
const heartbeatMs = 15_000

export const bench: Bench = {
  title: 'Idle SSE readers',
  text: [
    `${readers.toLocaleString('en')} readers of ${sessions} sessions of which nothing is heard, over SQLite, from another process. The memory of the server is all that it has, Node and code`,
    `included; its CPU time is that of the silence, up to ${heartbeats} heartbeat of each. *Late* is how much more than ${heartbeatMs / 1000} s a heartbeat took.`,
  ].join('\n'),
  run: () =>
    withTemporaryFolder(async (folder) => ({
      head: ['readers', 'RSS MB', 'without MB', '% of a core', 'heartbeats', 'late p50 ms', 'p99', 'lost'],
      rows: [await withServer(join(folder, 'bench.sqlite'), silence)],
    })),
}

async function silence(server: ServerProcess): Promise<string[]> {
  const ids = Array.from({ length: sessions }, (_, place) => `session-${place}`)
  for (const id of ids) {
    const { ended } = await readEvents(server.url, executePath, () => undefined, executeBody(id, { deltas: 1 }, true))
    await ended
  }
  const { rssBytes: without } = await server.figures()
  const lateMs: number[] = []
  let lost = 0
  for (let place = 0; place < readers; place += 1) {
    const response = await ask(server.url, eventsPath(ids[place % sessions] ?? '', '?from=now'))
    let heardAt = performance.now()
    response.on('data', (bytes: Buffer) => {
      if (!bytes.includes(': hb')) return
      lateMs.push(performance.now() - heardAt - heartbeatMs)
      heardAt = performance.now()
    })
    response.once('close', () => (lost += 1))
  }
  const before = await server.figures()
  const startedAt = performance.now()
  await setTimeout(heartbeats * heartbeatMs + 1000)
  const { cpuMs, rssBytes } = await server.figures()
  const share = (cpuMs - before.cpuMs) / (performance.now() - startedAt)
  const megabytes = (bytes: number) => (bytes / 1024 ** 2).toFixed(0)
  const late = [0.5, 0.99].map((each) => percentile(lateMs, each).toFixed(0))
  return [
    readers.toLocaleString('en'),
    megabytes(rssBytes),
    megabytes(without),
    (share * 100).toFixed(1),
    lateMs.length.toLocaleString('en'),
    ...late,
    String(lost),
  ]
}
