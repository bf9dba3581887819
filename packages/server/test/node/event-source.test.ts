import { EventSource } from 'eventsource'
import { expect, it } from 'vitest'
import { bench, gate, say, type Bench } from '../support/bench.ts'
import { allFrames } from '../support/frames.ts'

const events = '/api/agent/session/mine/events'
const messageText = 'One, two, “three”. '.repeat(3)

/** Text with line ends and chunk ends at any position: readers must not depend on them. */
const steps = [
  { text: `Begun.\n\ndata: no frame\n`, chunk: 3 },
  { text: messageText, chunk: 2 },
]

interface Message {
  readonly id: string
  readonly data: string
}

async function withTwoTurns(open: (it: Bench) => Promise<readonly Message[]>): Promise<void> {
  const it = await bench({ steps })
  await allFrames(await it.execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  const reading = open(it)
  const whole = await allFrames(await it.execute({ sessionId: 'mine', input: say('more') }))
  const seen = await reading
  const durable = seen.filter(({ data }) => 'seq' in (JSON.parse(data) as object))
  expect(durable.map(({ id }) => id)).toEqual(durable.map((_, place) => String(place + 1)))
  const ids = whole.flatMap(({ id, data }) => ('seq' in data ? [id] : []))
  expect(durable.map(({ id }) => id)).toEqual(expect.arrayContaining(ids))
  expect(seen.some(({ data }) => data.includes(JSON.stringify(messageText)))).toBe(true)
}

it('V99: eventsource reads a log as it is written, on one connection', async () => {
  const stop = gate()
  await withTwoTurns(async ({ url }) => {
    const messages: Message[] = []
    let connections = 0
    const source = new EventSource(`${url}${events}?from=start`, {
      fetch: (input, init) => {
        connections++
        return fetch(input, init)
      },
    })
    source.addEventListener('message', ({ lastEventId: id, data }: { lastEventId: string; data: string }) => {
      messages.push({ id, data })
      if (messages.filter((each) => each.data.includes('"type":"settled"')).length === 2) stop.open()
    })
    await stop.passed
    source.close()
    expect(connections).toBe(1)
    return messages
  })
})

it('V99, V33: eventsource reconnects after the last frame it has seen, and stops when nothing is left', async () => {
  const it = await bench({ steps: [{ text: messageText, chunk: 5 }] })
  const answers: { readonly lastEventId: string | null; readonly status: number }[] = []
  const cutOnce = async (input: string | URL, init: { headers: Record<string, string> }): Promise<Response> => {
    const answer = await fetch(input, init)
    answers.push({ lastEventId: new Headers(init.headers).get('last-event-id'), status: answer.status })
    // Removes the wait that the server asks for.
    const text = (await answer.text()).replace('retry: 2000', 'retry: 0')
    return answers.length > 1 ? new Response(text || null, answer) : new Response(text.slice(0, text.length / 2), answer)
  }
  await allFrames(await it.execute({ sessionId: 'mine', input: say('hi'), context: {} }))
  const seen: number[] = []
  const { cursor } = (await (await it.get('/api/agent/session/mine')).json()) as { cursor: string }
  const source = new EventSource(`${it.url}${events}?cursor=0&until=settled`, { fetch: cutOnce })
  source.addEventListener('message', ({ lastEventId, data }) => {
    if (!String(data).includes('"stream-end"')) seen.push(Number(lastEventId))
  })
  await expect.poll(() => source.readyState, { timeout: 20_000 }).toBe(EventSource.CLOSED)
  expect(seen).toEqual(Array.from({ length: Number(cursor) }, (_, place) => place + 1))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 204])
  expect(answers.map(({ lastEventId }) => lastEventId)).toEqual([null, expect.stringMatching(/^\d+$/), cursor])
})
