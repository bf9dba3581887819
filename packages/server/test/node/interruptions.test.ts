import { emptyView, type RunView } from '@bowline/agent-loop/events'
import { createClient, foldEvent, type Client, type ClientEvent, type ClientOptions } from '@bowline/client'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rounds } from '../../../../scripts/test-length.ts'
import { answerTo, question } from '../support/answers.ts'
import { temporaryFolder } from '../support/bench.ts'
import { serverProcess, type ServerProcess } from '../support/child.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'

const runs = rounds({ short: 20, long: 200 })
const atOnce = 10
/** Numbers of runs after which the server is killed. */
const kills = [runs * 0.3, runs * 0.7]

/** Returns a random generator with a fixed sequence. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** Returns byte limits: a third of the connections break before or within the headers, a third in a stream, a third never. */
function budgets(random: () => number): () => number | undefined {
  return () => {
    const kind = random()
    if (kind < 0.33) return 1 + Math.floor(random() * 700)
    return kind < 0.66 ? 700 + Math.floor(random() * 12_000) : undefined
  }
}

/** Fetch that removes `retry:`, so that the client reconnects at once. */
const hurried: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body) return response
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (bytes, controller) =>
        controller.enqueue(Buffer.from(Buffer.from(bytes).toString('latin1').replace('retry: 2000', 'retry: 0'), 'latin1')),
    }),
  )
  return new Response(body, response)
}

interface Seen {
  readonly sent: readonly ClientEvent[]
  readonly watched: readonly ClientEvent[]
  readonly status: string
}

/** Uses two tabs: one asks, the other reads from the beginning. */
async function twoTabs(tab: () => Client, id: string, number: number): Promise<Seen> {
  const run = tab().session(id).send(question(number))
  const sending = collect(run)
  const acceptance = await run.accepted()
  expect(acceptance).toEqual({ ok: true, sessionId: id, runId: run.runId })
  const watched = await untilSettled(tab(), id)
  return { sent: await sending, watched, status: (await run.result()).status }
}

async function collect(events: AsyncIterable<ClientEvent>): Promise<ClientEvent[]> {
  const all: ClientEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

async function untilSettled(client: Client, id: string): Promise<ClientEvent[]> {
  const all: ClientEvent[] = []
  for await (const event of client.session(id).attach({ from: 'start' })) {
    all.push(event)
    if (event.type === 'settled') return all
  }
  throw new Error('The log ended before the session came to rest.')
}

function viewOf(events: readonly ClientEvent[]): RunView {
  return events.reduce<RunView>(foldEvent, emptyView)
}

function numbersOf(events: readonly ClientEvent[]): number[] {
  return events.flatMap((event) => ('seq' in event && event.seq !== undefined ? [event.seq] : []))
}

it('V30, V44, C5, C7, C8: many runs, broken connections, two tabs and a server killed twice: all see what an undisturbed reader sees', async () => {
  const file = join(temporaryFolder(), 'data.db')
  let server: ServerProcess = await serverProcess(file, 'answering')
  const random = randomFrom(7)
  const proxy = await cuttingProxy(budgets(random))
  proxy.toward(Number(new URL(server.url).port))
  const options: ClientOptions = {
    baseUrl: proxy.url,
    fetch: hurried,
    random,
    reconnect: { baseMs: 1, maxMs: 20 },
    tools: { where: { effect: 'pure', execute: () => ({ place: 'at sea' }) } },
  }
  const tab = (): Client => createClient(options)

  let next = 0
  let done = 0
  const seen = new Map<string, Seen>()
  let restarting: Promise<void> | undefined
  async function restart(): Promise<void> {
    proxy.toward(undefined)
    server.child.kill('SIGKILL')
    expect(await server.ended).toBe('SIGKILL')
    server = await serverProcess(file, 'answering')
    proxy.toward(Number(new URL(server.url).port))
  }
  async function work(): Promise<void> {
    for (let number = next++; number < runs; number = next++) {
      const id = `session-${number}`
      seen.set(id, await twoTabs(tab, id, number))
      if (kills.includes(++done)) restarting = restart()
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  await restarting

  expect(proxy.cuts()).toBeGreaterThan(runs)
  let taken = 0
  const undisturbed = createClient({ baseUrl: server.url })
  for (let number = 0; number < runs; number++) {
    const id = `session-${number}`
    const { sent, watched, status } = seen.get(id) ?? expect.unreachable(id)
    const reference = await untilSettled(undisturbed, id)
    const expected = viewOf(reference)
    expect({ id, status, text: textOf(expected) }).toEqual({ id, status: 'completed', text: answerTo(number) })
    expect(viewOf(watched)).toEqual(expected)
    expect(numbersOf(watched)).toEqual(numbersOf(reference))
    expect(numbersOf(watched)).toEqual(Array.from({ length: numbersOf(reference).length }, (_, index) => index + 1))
    expect(viewOf(sent).messages).toEqual(expected.messages)
    expect(numbersOf(sent)).toEqual(numbersOf(reference).filter((seq) => numbersOf(sent).includes(seq)))
    expect((await undisturbed.session(id).state()).messages).toEqual(expected.messages)
    expect(reference.filter((event) => event.type === 'run-queued')).toHaveLength(1)
    if (reference.some((event) => event.type === 'turn-start' && event.resumed) && number % 4 !== 3) taken++
  }
  // The next process took over some runs. Those after a client tool are resumed in any case.
  expect(taken).toBeGreaterThan(0)
})

function textOf({ messages }: RunView): string {
  const answer = messages.at(-1)
  if (answer?.role !== 'assistant') return ''
  return answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
