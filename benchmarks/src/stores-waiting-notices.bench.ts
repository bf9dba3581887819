import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { RuntimeOptions, RuntimeWebhook, SessionStore } from '@bowline/sessions'
import { isShort, median, type Bench } from './harness.ts'
import { runAtOnce, storeNames, withRuntime } from './stores.ts'

const sessions = isShort ? 300 : 33_334
const idleSeconds = isShort ? 1 : 20
/** Time for the receivers to be paused, and for the process to rest after the notices were added. */
const settleMs = isShort ? 100 : 10_000
const rounds = isShort ? 3 : 21
const secret = 'a secret of sixteen characters'
const deadNames = ['dead-1', 'dead-2', 'dead-3']

export const bench: Bench = {
  title: 'Notices that wait for receivers that are away',
  text: [
    `${(sessions * deadNames.length).toLocaleString('en')} notices in ${sessions.toLocaleString('en')} sessions wait for three webhooks that refuse connections. CPU of the process per second at rest, over`,
    `${idleSeconds} seconds, and the time from \`send\` of one run until a webhook that is well has its notice: median of ${rounds}, and the longest.`,
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const store of storeNames) {
      for (const waiting of [0, sessions])
        rows.push([store, (waiting * deadNames.length).toLocaleString('en'), ...(await figures(store, waiting))])
    }
    return { head: ['store', 'waiting', 'CPU ms per idle second', 'ms to the live webhook', 'longest'], rows }
  },
}

async function figures(store: string, waiting: number): Promise<readonly string[]> {
  let arrived = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(204).end()
      arrived.resolve()
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const live: RuntimeWebhook = { name: 'live', url: `http://127.0.0.1:${port}/`, events: ['settled'], secret }
  // Port 9 discards: where nothing listens, it refuses.
  const dead = deadNames.map((name): RuntimeWebhook => ({ name, url: 'http://127.0.0.1:9/', events: ['expired'], secret }))
  const options: Partial<RuntimeOptions> = { notify: [live, ...dead], webhooks: { http: true, allow: ['127.0.0.1'] } }
  try {
    return await withRuntime(
      store,
      async (runtime) => {
        await fill(runtime.store, waiting)
        // Tells the runtime of the notices.
        await runtime.sweep()
        await runAtOnce(runtime, 'warm-up', 20)
        await pause(settleMs)
        const before = process.cpuUsage()
        await pause(idleSeconds * 1000)
        const { user, system } = process.cpuUsage(before)
        const samples: number[] = []
        for (let round = 0; round < rounds; round += 1) {
          arrived = Promise.withResolvers()
          const startedAt = performance.now()
          await runtime.session(`live:${round}`).send('go')
          await arrived.promise
          samples.push(performance.now() - startedAt)
        }
        return [((user + system) / 1000 / idleSeconds).toFixed(1), median(samples).toFixed(1), Math.max(...samples).toFixed(1)]
      },
      options,
    )
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** Adds sessions with a notice for each dead webhook. */
async function fill(store: SessionStore, count: number): Promise<void> {
  const notify = deadNames.map((name) => ({ name, events: ['expired'] as const }))
  const add = async (place: number): Promise<void> => {
    const key = `waiting:${place}`
    const session = { id: key, agent: 'assistant', metadata: {}, at: Date.now(), settings: {} }
    const result = await store.commit({
      id: key,
      key,
      expect: [],
      writes: [{ op: 'session.ensure', session }, { op: 'session.expire' }],
      notify,
    })
    if (!result.ok) throw new Error(`The session ${key} was refused`)
  }
  const places = Array.from({ length: count }, (_, place) => place).values()
  const lane = async (): Promise<void> => {
    for (const place of places) await add(place)
  }
  await Promise.all(Array.from({ length: 64 }, lane))
}
