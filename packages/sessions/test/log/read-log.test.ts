import { defineTool } from '@bowline/agent-loop'
import { emptyView, isDurable, reduceEvents, type AgentEvent, type RunView } from '@bowline/agent-loop/events'
import type { LoggedEvent, Session } from '@bowline/sessions'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { collect, gate, logOf, setup, types } from '../support.ts'

const fold = (events: readonly AgentEvent[], from: RunView = emptyView): RunView => events.reduce(reduceEvents, from)

/** Returns ten words, one delta each. The model waits in the middle until the gate is open. */
function story(passed: Promise<void>): { readonly text: string; readonly step: Step } {
  const words = Array.from({ length: 10 }, (_, index) => `word${index} `)
  const deltas = words.map((delta) => ({ type: 'text-delta', id: 't', delta }) as const)
  const [head, tail] = [deltas.slice(0, 5), deltas.slice(5)]
  const parts: Step['parts'] = [{ type: 'text-start', id: 't' }, ...head, { wait: passed }, ...tail, { type: 'text-end', id: 't' }]
  return { text: words.join(''), step: { parts } }
}

async function readUntil(events: AsyncIterable<LoggedEvent>, isLast: (event: LoggedEvent) => boolean): Promise<LoggedEvent[]> {
  const seen: LoggedEvent[] = []
  for await (const event of events) {
    seen.push(event)
    if (isLast(event)) break
  }
  return seen
}

/** Returns true if no position goes back or repeats. */
function inOrder(cursors: readonly string[]): boolean {
  const places = cursors.map((cursor) => cursor.split('.').map(Number))
  return places.every(([seq = 0, n = 0], index) => {
    const [seqBefore = -1, nBefore = 0] = places[index - 1] ?? []
    return seq > seqBefore || (seq === seqBefore && n > nBefore)
  })
}

const isSettled = (event: LoggedEvent): boolean => event.type === 'settled'

describe('readLog', () => {
  it('S115, S119: a reader that is cut off after any event and attaches again gets the same bytes as an undisturbed one', async () => {
    const go = gate()
    const { step, text } = story(go.passed)
    const { runtime } = setup({ steps: [step] })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.open()
    const undisturbed = readUntil(session.events(), isSettled)
    await session.send('tell me')
    const half = await readUntil(session.events(), (event) => event.type === 'text-delta' && event.delta === 'word4 ')
    // While the message is open, reattaches at each cut and reads to the end.
    const resumed = half.map((event, index) => ({
      before: half.slice(0, index + 1),
      after: readUntil(session.events(event.cursor), isSettled),
    }))
    go.open()
    const whole = await undisturbed
    expect(whole.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : [])).join('')).toBe(text)
    for (const { before, after } of resumed) {
      expect([...before, ...(await after)]).toEqual(whole)
    }
    // After the message has ended, its deltas are void: the durable records lead to the same state.
    for (const { before } of resumed) {
      const rest = await collect(session.events({ cursor: before.at(-1)!.cursor, live: false }))
      expect(fold([...before, ...rest])).toEqual(fold(whole))
    }
    expect(fold(await logOf(session))).toEqual(fold(whole))
    await runtime.stop()
  })

  it('S118: a durable event comes after its commit, deltas after the event that they follow', async () => {
    const { runtime } = setup({ steps: [{ text: 'abc', chunk: 1 }] })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.open()
    const seen: LoggedEvent[] = []
    const reading = (async () => {
      for await (const event of session.events()) {
        seen.push(event)
        if ('seq' in event && event.seq !== undefined) {
          const stored = await runtime.store.readEvents('room:1', event.seq - 1, 1)
          expect(stored.events[0]).toMatchObject({ type: event.type, seq: event.seq })
        }
        if (isSettled(event)) return
      }
    })()
    await session.send('go')
    await reading
    const order = types(seen)
    expect(order.indexOf('message-start')).toBeLessThan(order.indexOf('text-start'))
    expect(order.lastIndexOf('text-end')).toBeLessThan(order.indexOf('message-end'))
    expect(order.filter((type) => type === 'text-delta')).toHaveLength(3)
    await runtime.stop()
  })

  it.each(['send', 'send and a stop of it'])(
    'S116, S119: a %s in the middle of an answer disturbs neither the deltas nor their positions, for any reader',
    async (what) => {
      const go = gate()
      const { step, text } = story(go.passed)
      const stops = what !== 'send'
      const { runtime } = setup({ steps: stops ? [step] : [step, { text: 'second' }] })
      await runtime.start()
      const session = runtime.session('room:1')
      await session.open()
      const undisturbed = readUntil(session.events(), isSettled)
      await session.send('one')
      const half = await readUntil(session.events(), (event) => event.type === 'text-delta' && event.delta === 'word4 ')
      const queued = await session.send('two')
      if (stops) await queued.stop()
      const isOther = (event: LoggedEvent): boolean => event.type === (stops ? 'turn-end' : 'run-queued') && event.runId === queued.runId
      // Cut exactly at the event of the other writer, live and later. Also cut before it.
      const late = await readUntil(session.events(), isOther)
      const seen = late.at(-1)
      const after = readUntil(session.events(seen?.cursor), isSettled)
      const sinceHalf = readUntil(session.events(half.at(-1)?.cursor), isSettled)
      const fresh = readUntil(session.events(), isSettled)
      go.open()
      const whole = await undisturbed
      const other = whole.findIndex(isOther)
      const resumed = readUntil(session.events(whole[other]?.cursor), isSettled)
      for (const stream of [whole, [...late, ...(await after)], [...half, ...(await sinceHalf)], await fresh]) {
        const texts = stream.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
        expect(texts.join('')).toBe(stops ? text : `${text}second`)
        expect(inOrder(stream.map((event) => event.cursor))).toBe(true)
      }
      expect(fold([...whole.slice(0, other + 1), ...(await resumed)])).toEqual(fold(whole))
      await runtime.stop()
    },
  )

  it('S119: a reader that attaches first gets the deltas since the last durable event', async () => {
    const [said, go] = [gate(), gate()]
    const talker = defineTool({
      name: 'talker',
      description: 'Says something, waits, and ends.',
      inputSchema: z.object({}),
      effect: 'pure',
      async *execute() {
        yield 'half'
        said.open()
        await go.passed
        yield ' and half'
      },
    })
    const { runtime } = setup({ steps: [{ toolCalls: [{ name: 'talker', input: {} }] }, { text: 'done' }], tools: [talker] })
    await runtime.start()
    const session = runtime.session('room:1')
    await session.send('go')
    await said.passed
    const reading = readUntil(session.events(), isSettled)
    const probe = readUntil(session.events(), (event) => event.type === 'tool-execution-delta')
    expect((await probe).at(-1)).toMatchObject({ delta: 'half' })
    go.open()
    const deltas = (await reading).flatMap((event) => (event.type === 'tool-execution-delta' ? [event.delta] : []))
    expect(deltas).toEqual(['half', ' and half'])
    await runtime.stop()
  })

  it('S120: a malformed cursor and a cursor beyond the log are refused by their codes', async () => {
    const { runtime } = setup({ steps: [{ text: 'ok' }] })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send('go')).result()
    for (const cursor of ['', 'x', '1.', '-1', '01', '1.0', '1e3']) {
      expect(() => session.events(cursor)).toThrow(expect.objectContaining({ code: 'invalid-cursor' }) as Error)
    }
    await expect(collect(session.events({ cursor: '999', live: false }))).rejects.toMatchObject({ code: 'cursor-ahead' })
    await runtime.stop()
  })

  it('S123: live false ends at the last stored event; the events of a run end with its result', async () => {
    const { runtime } = setup({ steps: [{ text: 'one' }, { text: 'two' }] })
    await runtime.start()
    const session = runtime.session('room:1')
    const first = await session.send('a')
    const second = await session.send('b')
    const [events] = await Promise.all([collect(second), second.result()])
    expect(types(events).at(0)).toBe('run-queued')
    expect(types(events).at(-1)).toBe('save-point')
    expect(events.every((event) => 'runId' in event && event.runId === second.runId)).toBe(true)
    // Each can be read again later.
    expect(types(await collect(first)).at(-1)).toBe('save-point')
    expect(types((await collect(second)).filter(isDurable))).toEqual(types(events.filter(isDurable)))
    expect(types(await logOf(session)).at(-1)).toBe('settled')
    await runtime.stop()
  })

  it('S116: a waiting reader ends at once when the caller calls return()', async () => {
    const { runtime } = setup({ steps: [] })
    await runtime.start()
    const session: Session = runtime.session('room:1')
    await session.open()
    const events = session.events()[Symbol.asyncIterator]()
    expect((await events.next()).value).toMatchObject({ type: 'session-start' })
    const waiting = events.next()
    await events.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
    await runtime.stop()
  })

  it('S123: the events of a run of another session are refused at once', async () => {
    const { runtime } = setup({ steps: [{ text: 'ok' }] })
    await runtime.start()
    const { runId } = await runtime.session('room:1').send('go')
    await runtime.session('room:2').open()
    for (const unknown of [runId, 'run_of_nobody']) {
      const reading = collect(runtime.session('room:2').events({ runId: unknown }))
      await expect(reading).rejects.toMatchObject({ code: 'unknown-run' })
    }
    await runtime.stop()
  })
})
