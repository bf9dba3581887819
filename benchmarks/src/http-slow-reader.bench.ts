import { setTimeout } from 'node:timers/promises'
import type { Bench } from './harness.ts'
import { sharedNow, type PacedAnswer } from './paced-model.ts'
import { withServer, type ServerProcess } from './server-process.ts'
import { ask, eventsPath, executeBody, executePath, percentile, readEvents, timesIn } from './sse-load.ts'

const megabyte = 1024 ** 2
/** A hundred messages of a megabyte each, in deltas of four kilobytes. */
const calls = 99
const answer: PacedAnswer = { deltas: 256, characters: 4096, calls }
const tellingEvery = 100

export const bench: Bench = {
  title: 'An SSE reader that takes nothing',
  text: [
    `${calls + 1} messages of a megabyte each are streamed to a reader that reads, and another one takes nothing of it, or there is no other. *Held* is the most that the server had on and beside its heap`,
    'after a collection while it went on, *RSS* the most memory that the process had. *Delay* is that of the reader that reads.',
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const stuck of [0, 1]) rows.push(await withServer(undefined, (server) => streamed(server, stuck)))
    return { head: ['take nothing', 's', 'held MB', 'RSS MB', 'delay p50 ms', 'p99'], rows }
  },
}

async function streamed(server: ServerProcess, stuck: number): Promise<string[]> {
  const first = await readEvents(server.url, executePath, () => undefined, executeBody('session', { deltas: 10 }, true))
  await first.ended
  const delays: number[] = []
  const reader = await readEvents(server.url, eventsPath('session', '?from=now'), (data) => {
    const now = sharedNow()
    for (const time of timesIn(data)) delays.push(now - time)
  })
  for (let place = 0; place < stuck; place += 1) await ask(server.url, eventsPath('session', '?from=now'))
  const [held, rss]: [number[], number[]] = [[], []]
  let going = true
  const watching = (async () => {
    while (going) {
      const { heldBytes, rssBytes } = await server.figures()
      held.push(heldBytes)
      rss.push(rssBytes)
      await setTimeout(tellingEvery)
    }
  })()
  const startedAt = performance.now()
  const turn = await readEvents(server.url, executePath, () => undefined, {
    ...executeBody('session', answer, false),
    options: { deltas: false },
  })
  await turn.ended
  const seconds = (performance.now() - startedAt) / 1000
  going = false
  await watching
  reader.leave()
  const most = (values: readonly number[]) => (Math.max(...values) / megabyte).toFixed(0)
  return [String(stuck), seconds.toFixed(1), most(held), most(rss), ...[0.5, 0.99].map((each) => percentile(delays, each).toFixed(1))]
}
