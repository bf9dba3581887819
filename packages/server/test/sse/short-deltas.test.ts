import { emptyView, isDelta, reduceEvents, type RunView } from '@bowline/agent-loop'
import { createClient, foldEvent, type ClientEvent } from '@bowline/client'
import type { LoggedEvent } from '@bowline/sessions'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { logForm, shortForm } from '../../src/sse/frame-form.ts'
import { SharedFrames } from '../../src/sse/shared-frames.ts'
import { bench, say, watchedScript, type Bench } from '../support/bench.ts'
import { feed, make, text } from '../support/feed.ts'
import { allFrames, eventsOf, framesOf, type Frame } from '../support/frames.ts'

const of = (messageId: string) => ({ at: 1_790_000_000_000, runId: 'run_5Jx0aQ3bJ9dZt1', turn: 3, step: 2, messageId })
const hello = { type: 'text-delta', index: 0, delta: 'hello' } as const
const start = { type: 'text-start', index: 0 } as const

type Logged = readonly LoggedEvent[]

/** Gives the events their positions in a log that begins at this number. */
function numbered(events: readonly object[], first = 1): Logged {
  let seq = first - 1
  let n = 0
  return events.map((event) => {
    if (isDelta(event)) return { ...event, cursor: `${seq}.${++n}` }
    n = 0
    return { ...event, seq: ++seq, cursor: String(seq) } as LoggedEvent
  })
}

/** Returns the frames of a stream whose reader takes each event as it arrives. */
async function framesOneByOne(events: Logged): Promise<string[]> {
  const source = feed()
  const { reader } = make(source, undefined, { form: shortForm })
  await reader.read()
  const frames: string[] = []
  for (const event of events) {
    const next = reader.read()
    source.push(event)
    frames.push(text(await next))
  }
  await reader.cancel()
  return frames
}

it('V104: a delta is only the index and the text once the stream has named its block', async () => {
  const m = of('m')
  const reasoning = { type: 'reasoning-delta', index: 1, delta: 'why' } as const
  const call = { type: 'tool-call-delta', index: 2, toolCallId: 'c', delta: '{' } as const
  const events = numbered([
    { type: 'message-start', ...m },
    ...[start, hello, { ...reasoning, type: 'reasoning-start' }, reasoning, hello, call, call].map((event) => ({ ...event, ...m })),
  ])
  const frames = await framesOneByOne(events)
  expect(frames[2]).toBe('id: 1.2\ndata: [0,"hello"]\n\n')
  expect(frames[4]).toBe('id: 1.4\ndata: [1,"why"]\n\n')
  expect(frames[5]).toBe('id: 1.5\ndata: [0,"hello"]\n\n')
  expect(frames.slice(6).join('')).toContain('"tool-call-delta"')
})

it('V104: a block that a stream has not named comes in full first: where a reader starts, in another message, another run, another kind', async () => {
  const [m, n] = [of('m'), of('n')]
  const others = [
    { ...hello, ...m },
    { ...hello, ...n },
    { ...hello, ...n, runId: 'other' },
    { ...hello, ...n, runId: 'other', type: 'reasoning-delta' },
    { ...hello, ...m },
  ]
  for (const frame of await framesOneByOne(numbered(others, 4))) expect(frame).toContain('"delta":"hello"')
  // All blocks of another message are new, also those with the same index.
  const two = [m, m, n, n].map((of, place) => ({ ...hello, index: [0, 1, 1, 0][place], ...of }))
  for (const frame of await framesOneByOne(numbered(two, 4))) expect(frame).toContain('"delta":"hello"')
  const [, second] = await framesOneByOne(
    numbered(
      [
        { ...hello, ...m },
        { ...hello, ...m },
      ],
      4,
    ),
  )
  expect(second).toBe('id: 3.2\ndata: [0,"hello"]\n\n')
})

it('V104: a delta of five characters takes at most 60 bytes with its id and line ends, in a log of a hundred million events', async () => {
  const m = of('msg_0123456789abcdefghijkl')
  const deltas = Array.from({ length: 50 }, () => ({ ...hello, index: 120, ...m, agent: ['assistant'] }))
  const [, ...frames] = await framesOneByOne(
    numbered([{ type: 'message-start', ...m }, { ...start, index: 120, ...m }, ...deltas], 100_000_000),
  )
  const bytes = frames.slice(1).map((frame) => Buffer.byteLength(frame))
  expect(bytes).toHaveLength(50)
  expect(Math.max(...bytes)).toBeLessThanOrEqual(60)
  // Five characters of any script fit into 60 bytes.
  const [, , wide = ''] = await framesOneByOne(
    numbered([
      { ...start, ...m },
      { ...hello, ...m },
      { ...hello, ...m, delta: '👩‍👩‍👧' },
    ]),
  )
  expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(60)
})

it('V37, V104: each form of a delta is encoded once for all of its readers', () => {
  const shared = new SharedFrames()
  const [began, one, two, three] = numbered(
    [
      { ...start, ...of('m') },
      { ...hello, ...of('m') },
      { ...hello, ...of('m') },
      { ...hello, ...of('m') },
    ],
    2,
  ) as [LoggedEvent, ...Parameters<ReturnType<typeof shortForm>['deltas']>[0][number][]]
  if (!one || !two || !three) throw new Error('Four events are needed.')
  const forms = [shortForm, shortForm, logForm, logForm].map((form) => form(shared, 'log'))
  for (const form of forms) form.event(began)
  for (const deltas of [[one], [two, three]] as const) {
    const [a, b, c, d] = forms.map((form) => form.deltas(deltas)[0])
    expect([a === b, c === d, a === c]).toEqual([true, true, false])
  }
})

const kinds = ['text', 'reasoning', 'tool-call'] as const
/** Generates one message: blocks whose deltas are interleaved, and whether it was withdrawn. */
const message = fc.record({
  kinds: fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 3 }),
  deltas: fc.array(fc.record({ block: fc.nat(2), delta: fc.string({ unit: 'binary', minLength: 1 }) }), { maxLength: 12 }),
  closed: fc.boolean(),
  withdrawn: fc.boolean(),
})

type RandomMessage = typeof message extends fc.Arbitrary<infer T> ? T : never

function eventsOfMessage({ kinds: blocks, deltas, closed, withdrawn }: RandomMessage, place: number): object[] {
  const m = of(`m${place}`)
  const callOf = (index: number) => (blocks[index] === 'tool-call' ? { toolCallId: `c${place}.${index}`, toolName: 'look' } : {})
  const each = (suffix: string, index: number, more: object = {}) => ({
    type: `${blocks[index] ?? 'text'}-${suffix}`,
    index,
    ...callOf(index),
    ...m,
    ...more,
  })
  const textOf = (index: number) => deltas.flatMap(({ block, delta }) => (block === index ? [delta] : [])).join('')
  return [
    { type: 'message-start', ...m, attempt: 1, model: { provider: 'p', modelId: 'm' } },
    ...blocks.map((_kind, index) => each('start', index)),
    ...deltas.filter(({ block }) => block < blocks.length).map(({ block, delta }) => each('delta', block, { delta })),
    ...(closed ? blocks.flatMap((kind, index) => (kind === 'tool-call' ? [] : [each('end', index, { text: textOf(index) })])) : []),
    ...(withdrawn ? [{ type: 'message-discarded', ...m, reason: 'retry' }] : []),
  ]
}

const program = fc.record({
  messages: fc.array(message, { minLength: 1, maxLength: 4 }),
  /** Log position after which the first connection starts. */
  from: fc.nat(60),
  /** For each connection: its form, the bytes until it is cut, and the number of events that are ready at each read. */
  connections: fc.array(fc.record({ short: fc.boolean(), cut: fc.integer({ min: 1, max: 900 }), atHand: fc.integer({ min: 1, max: 9 }) }), {
    maxLength: 12,
  }),
})

/** Timers of the client that are due at once fire. No other timer fires. */
const clock = {
  now: () => 0,
  setTimer(atMs: number, run: () => void) {
    const timer = atMs === 0 ? setImmediate(run) : undefined
    return () => clearImmediate(timer)
  },
}

/** Serves a log to a client over connections that are cut. The program selects the form of each. */
function serving(log: Logged, connections: { readonly short: boolean; readonly cut: number; readonly atHand: number }[]): typeof fetch {
  return async (input) => {
    const asked = new URL(input).searchParams.get('cursor')
    const next = connections.shift() ?? { short: true, cut: Infinity, atHand: 3 }
    const after = log.slice(1 + log.findIndex(({ cursor }) => cursor === asked))
    const source = feed()
    const { reader } = make(source, undefined, next.short ? { form: shortForm } : {})
    let leftBytes = next.cut
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const chunk = after.splice(0, next.atHand)
        source.push(...chunk)
        if (after.length === 0) source.finish()
        const { value, done } = await reader.read()
        if (done) return controller.close()
        if (value.length <= leftBytes)
          controller.enqueue(new TextEncoder().encode(new TextDecoder().decode(value).replace('retry: 2000', 'retry: 0')))
        else controller.enqueue(value.subarray(0, leftBytes))
        leftBytes -= value.length
        if (leftBytes < 0) controller.error(new Error('cut'))
      },
      cancel: () => reader.cancel(),
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

it('V104: from any place, over any cuts and changes of form, the fold of a client equals that of the log', async () => {
  let shortFrames = 0
  const count = fc.asyncProperty(program, async ({ messages, from, connections }) => {
    const events = numbered(messages.flatMap(eventsOfMessage))
    const place = from % events.length
    const before = events.slice(0, place + 1)
    const fold = (list: readonly LoggedEvent[]): RunView =>
      list.reduce<RunView>((view, { cursor: _, ...event }) => reduceEvents(view, event), emptyView)
    const client = createClient({ baseUrl: 'http://127.0.0.1:1', clock, random: () => 0, fetch: serving(events, [...connections]) })
    let view = fold(before)
    const seen: ClientEvent[] = []
    for await (const event of client.session('mine').attach({ cursor: before.at(-1)?.cursor ?? '0' })) {
      seen.push(event)
      view = foldEvent(view, event)
    }
    expect(view).toEqual(fold(events))
    // Each delta is unchanged except for its time: short deltas have the time of their block.
    const facts = (list: readonly object[]) =>
      list.filter((event) => !('delta' in event)).map(({ cursor: _, ...event }: { cursor?: string }) => event)
    expect(facts(seen)).toEqual(facts(events.slice(place + 1)))
    for (const event of seen)
      if ('delta' in event) expect(Object.keys(event)).toEqual(expect.arrayContaining(['runId', 'turn', 'step', 'messageId', 'at']))
    shortFrames += seen.filter((event) => event.type === 'text-delta').length
  })
  await fc.assert(count, randomRuns(100))
  expect(shortFrames).toBeGreaterThan(0)
})

const answer = 'The knot holds under any load and is easy to untie, so it is used at sea. '.repeat(4)

/** Returns the frames of an answer that a reader sees live, in pieces of five characters. `read` starts it. */
async function liveAnswer(read: (it: Bench, body: object) => Promise<Response>, body: object): Promise<Frame[]> {
  const { steps, see } = watchedScript({ text: answer, chunk: 5 })
  const it = await bench({ steps })
  return allFrames(await read(it, { sessionId: 'mine', input: say('hi'), context: {}, ...body }), see)
}

const shortOf = (frames: readonly Frame[]) =>
  frames.flatMap(({ data }) => (Array.isArray(data) ? [data as unknown as readonly [number, string]] : []))

it('V104: execute and events send short deltas only on request', async () => {
  const execute = (it: Bench, body: object) => it.execute(body)
  const events = (query: string) => async (it: Bench, body: object) => {
    const running = await it.execute(body)
    void running.body?.cancel()
    return it.get(`/api/agent/session/mine/events?until=settled${query}`)
  }
  for (const frames of [await liveAnswer(execute, { options: { deltas: 'short' } }), await liveAnswer(events('&deltas=short'), {})]) {
    const short = shortOf(frames)
    expect(short.length).toBeGreaterThan(0)
    expect(short.map(([index]) => index)).toEqual(short.map(() => 0))
    expect(answer).toContain(short.map(([, said]) => said).join(''))
  }
  for (const frames of [await liveAnswer(execute, {}), await liveAnswer(events(''), {})]) {
    expect(shortOf(frames)).toEqual([])
    expect(
      eventsOf(frames)
        .map((event) => (event.type === 'text-delta' ? event.delta : ''))
        .join(''),
    ).toBe(answer)
  }
  const it = await bench()
  expect((await it.execute({ input: say('hi'), context: {}, options: { deltas: 'long' } })).status).toBe(400)
  expect((await it.get('/api/agent/session/mine/events?deltas=long')).status).toBe(400)
})

it('V104: the size of a whole stream in bytes', async () => {
  const { steps, see } = watchedScript({ text: answer, chunk: 5 })
  const it = await bench({ steps })
  const response = await it.execute({ sessionId: 'mine', input: say('hi'), context: {}, options: { deltas: 'short' } })
  const [counted, read] = response.body?.tee() ?? []
  const frames: Frame[] = []
  const reading = (async () => {
    for await (const frame of framesOf(new Response(read))) {
      see(frame)
      frames.push(frame)
    }
  })()
  const whole = await new Response(counted).text()
  await reading
  const deltaBytes = Buffer.byteLength(
    whole
      .split('\n\n')
      .filter((frame) => frame.includes('\ndata: ['))
      .map((frame) => `${frame}\n\n`)
      .join(''),
  )
  const characters = shortOf(frames)
    .map(([, said]) => said)
    .join('').length
  expect(characters).toBeGreaterThan(answer.length / 2)
  expect((deltaBytes / characters) * 5).toBeLessThanOrEqual(60)
})
