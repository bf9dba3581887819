import { defineExtension, emptyView, reduceEvents, type AgentEvent, type RunView } from '@bowline/agent-loop'
import type { SessionView } from '@bowline/client'
import { describe, expect, it } from 'vitest'
import { bench, gate, localTool, refusal, remoteTool, say, stores, watchedScript, type Bench } from './support/bench.ts'
import { allFrames, completion, eventsOf, framesOf, framesUntil, typesOf, type Frame } from './support/frames.ts'

const events = '/api/agent/session/mine/events'
const fold = (list: readonly AgentEvent[]): RunView => list.reduce(reduceEvents, emptyView)
const isType = (type: string) => (frame: Frame) => frame.data.type === type
const position = (id = '') => id.split('.').map(Number) as [number, number?]

async function say1({ execute }: Bench, content: string, context: object | undefined = undefined) {
  return allFrames(await execute({ sessionId: 'mine', input: say(content), ...(context && { context }) }))
}

describe.each(stores)('events over the $name store', ({ make }) => {
  it('V28: each frame has an id, and ids never go back', async () => {
    const { steps, see } = watchedScript({ toolCalls: [{ name: 'look', input: {} }] }, { text: 'Hello there.', chunk: 2 })
    const { execute, get } = await bench({ store: make(), steps, tools: [localTool('look', () => 'seen')] })
    const live = await allFrames(await execute({ sessionId: 'mine', input: say('hi'), context: {} }), see)
    expect(typesOf(live)).toContain('text-delta')
    const replayed = await framesUntil(await get(`${events}?from=start`), isType('settled'))
    for (const frames of [live, replayed]) {
      const ids = frames.map((frame) => position(frame.id))
      expect(ids.every(([seq, n = 0]) => Number.isSafeInteger(seq) && Number.isSafeInteger(n))).toBe(true)
      const sorted = ids.toSorted(([a, n = 0], [b, m = 0]) => a - b || n - m)
      expect(ids).toEqual(sorted)
    }
  })

  it('V29: after a cursor come the events above it, and Last-Event-ID wins over ?cursor=', async () => {
    const it = await bench({ store: make(), steps: [{ text: 'Hi.' }] })
    const frames = await say1(it, 'hi', {})
    const third = frames[2]?.id ?? ''
    const after = await framesUntil(await it.get(`${events}?cursor=${third}`), isType('settled'))
    expect(after[0]?.id).toBe(frames[3]?.id)
    const byHeader = await framesUntil(await it.get(`${events}?cursor=1`, { 'last-event-id': third }), isType('settled'))
    expect(byHeader).toEqual(after)
  })

  it('V30: for every cut, the fold before and after it equals the fold of an undisturbed stream', async () => {
    const steps = [{ toolCalls: [{ id: 'call-place', name: 'place', input: {} }] }, { text: 'You are in Oslo.', chunk: 4 }]
    const it = await bench({ store: make(), steps, tools: [remoteTool('place')] })
    await say1(it, 'where?', {})
    await allFrames(await it.execute({ sessionId: 'mine', input: [{ toolCallId: 'call-place', output: 'Oslo' }] }))
    const whole = await framesUntil(await it.get(`${events}?from=start`), isType('settled'))
    const expected = fold(eventsOf(whole))
    expect(expected.gap).toBe(false)
    for (let cut = 1; cut < whole.length; cut++) {
      const before = whole.slice(0, cut)
      const rest = await framesUntil(await it.get(events, { 'last-event-id': before.at(-1)?.id ?? '' }), isType('settled'))
      expect(eventsOf([...before, ...rest])).toEqual(eventsOf(whole))
    }
  })

  it('V30: a reader cut in the middle of an open message continues with its next delta', async () => {
    const half = gate()
    const parts = [
      { type: 'text-start', id: 't' } as const,
      { type: 'text-delta', id: 't', delta: 'One two ' } as const,
      { wait: half.passed },
      { type: 'text-delta', id: 't', delta: 'three.' } as const,
      { type: 'text-end', id: 't' } as const,
    ]
    const it = await bench({ store: make(), steps: [{ parts }] })
    const running = allFrames(await it.execute({ sessionId: 'mine', input: say('count'), context: {} }))
    const before = await framesUntil(await it.get(`${events}?from=start`), isType('text-delta'))
    const rest = await it.get(events, { 'last-event-id': before.at(-1)?.id ?? '' })
    half.open()
    const after = await framesUntil(rest, isType('settled'))
    const whole = await framesUntil(await it.get(`${events}?from=start`), isType('settled'))
    expect(fold(eventsOf([...before, ...after]))).toEqual(fold(eventsOf(whole)))
    const deltas = eventsOf([...before, ...after]).flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))
    // The message may have ended before the reader was back. Its end then replaces the deltas.
    expect(['One two ', 'One two three.']).toContain(deltas.join(''))
    expect(completion(await running).status).toBe('completed')
  })

  it('V31: a bad cursor and one beyond the log are refused before the headers', async () => {
    const it = await bench({ store: make(), steps: [{ text: 'Hi.' }] })
    await say1(it, 'hi', {})
    for (const cursor of ['x', '-1', '1.0', '1.2.3', '01']) {
      await refusal(it.get(`${events}?cursor=${cursor}`), 400, 'invalid-cursor')
      await refusal(it.get(events, { 'last-event-id': cursor }), 400, 'invalid-cursor')
    }
    await refusal(it.get(`${events}?cursor=999`), 409, 'cursor-ahead')
    await refusal(it.get(`${events}?from=never`), 400, 'invalid-query')
  })

  it('V32: without a cursor a reader starts with the last run, with the first event, or with the next one', async () => {
    const it = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }] })
    await say1(it, 'first', {})
    const second = await say1(it, 'second')
    const run = await framesUntil(await it.get(events), isType('settled'))
    expect(run[0]).toEqual(second[0])
    expect(typesOf(run)[0]).toBe('run-queued')
    const start = await framesUntil(await it.get(`${events}?from=start`), isType('session-start'))
    expect(start.map((frame) => frame.id)).toEqual(['1'])
    const now = await it.get(`${events}?from=now`)
    const third = await say1(it, 'third')
    const next = await framesUntil(now, isType('settled'))
    expect(next[0]).toEqual(third[0])
  })

  it('V32: without a cursor a reader starts with the open run, if there is one', async () => {
    const steps = [{ toolCalls: [{ id: 'call-place', name: 'place', input: {} }] }]
    const it = await bench({ store: make(), steps, tools: [remoteTool('place')] })
    const first = await say1(it, 'where?', {})
    const queued = await it.execute({ sessionId: 'mine', input: say('more'), options: { onBusy: 'queue' } })
    await framesUntil(queued, isType('run-queued'))
    const frames = await framesUntil(await it.get(events), isType('awaiting-tools'))
    expect(frames[0]).toEqual(first[0])
  })

  it('V33: until=settled ends after the settled event, and is 204 when nothing is open', async () => {
    const hold = gate()
    const it = await bench({ store: make(), steps: [{ text: 'One.' }, { parts: [{ wait: hold.passed }], text: 'Two.' }] })
    await say1(it, 'first', {})
    const answer = await it.get(`${events}?until=settled`)
    expect(answer.status).toBe(204)
    expect(await answer.text()).toBe('')
    const running = it.execute({ sessionId: 'mine', input: say('second') })
    const open = await running
    const reading = await it.get(`${events}?until=settled&from=start`)
    hold.open()
    await allFrames(open)
    const frames = await allFrames(reading)
    expect(typesOf(frames).filter((type) => type === 'settled')).toHaveLength(2)
    expect(typesOf(frames).slice(-2)).toEqual(['settled', 'stream-end'])
    expect(frames.at(-1)?.data).toEqual({ type: 'stream-end', reason: 'settled', resume: false })
    expect(frames.at(-1)?.id).toBe(frames.at(-2)?.id)
  })

  it('V33: a reader that missed the end gets the rest first, and 204 after it', async () => {
    const it = await bench({ store: make(), steps: [{ text: 'One.' }] })
    const [first] = await say1(it, 'first', {})
    const rest = await allFrames(await it.get(`${events}?until=settled`, { 'last-event-id': first?.id ?? '' }))
    expect(typesOf(rest).slice(-2)).toEqual(['settled', 'stream-end'])
    expect((await it.get(`${events}?until=settled`, { 'last-event-id': rest.at(-1)?.id ?? '' })).status).toBe(204)
  })

  it('V33: until=settled does not wait for the hooks after the end, but for the settled of a queued run', async () => {
    const hook = gate()
    let hooked = 0
    const slow = defineExtension({
      name: 'slow',
      timeoutMs: 60_000,
      hooks: { onSettled: () => (hooked++ === 0 ? hook.passed : undefined) },
    })
    const it = await bench({ store: make(), steps: [{ text: 'One.' }, { text: 'Two.' }], extensions: [slow] })
    const open = await it.execute({ sessionId: 'mine', input: say('first'), context: {} })
    const known = await framesUntil(await it.get(events), isType('settled'))
    expect((await it.get(`${events}?until=settled`)).status).toBe(204)
    const rest = await allFrames(await it.get(`${events}?until=settled`, { 'last-event-id': known[0]?.id ?? '' }))
    expect(typesOf(rest).slice(-2)).toEqual(['settled', 'stream-end'])
    expect((await it.get(`${events}?until=settled`, { 'last-event-id': known.at(-1)?.id ?? '' })).status).toBe(204)
    const queued = await it.execute({ sessionId: 'mine', input: say('second'), options: { onBusy: 'queue' } })
    const reading = await it.get(`${events}?until=settled`, { 'last-event-id': known.at(-1)?.id ?? '' })
    hook.open()
    expect(typesOf(await allFrames(reading)).slice(-2)).toEqual(['settled', 'stream-end'])
    await Promise.all([allFrames(open), allFrames(queued)])
  })

  it('V33: until=settled waits for the settled of a turn whose hooks still run', async () => {
    const hook = gate()
    const slow = defineExtension({ name: 'slow', timeoutMs: 60_000, hooks: { onAgentEnd: () => hook.passed } })
    const it = await bench({ store: make(), steps: [{ text: 'One.' }], extensions: [slow] })
    const open = await it.execute({ sessionId: 'mine', input: say('first'), context: {} })
    await framesUntil(await it.get(events), isType('save-point'))
    const reading = await it.get(`${events}?until=settled&from=now`)
    expect(reading.status).toBe(200)
    hook.open()
    expect(typesOf(await allFrames(reading)).slice(-2)).toEqual(['settled', 'stream-end'])
    await allFrames(open)
  })

  it('V24: the streams of a deleted session end with deleted, and tell no reader to reconnect', async () => {
    const hold = gate()
    const it = await bench({ store: make(), steps: [{ parts: [{ wait: hold.passed }], text: 'Hi.' }] })
    const execute = await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
    const readings = [execute, await it.get(events), await it.get(`${events}?until=settled`)].map((answer) => allFrames(answer))
    const [session] = (await it.runtime.sessions()).items
    await it.runtime.session(session?.key ?? '').delete()
    for (const frames of await Promise.all(readings)) {
      expect(typesOf(frames).slice(-2)).toEqual(['session-end', 'stream-end'])
      expect(frames.at(-1)).toEqual({ id: frames.at(-2)?.id, data: { type: 'stream-end', reason: 'deleted', resume: false } })
    }
    expect(it.faults).toEqual([])
  })

  it('V38: deltas that come while the reader is busy with earlier events are not left out', async () => {
    const begun = gate()
    const deltas = ['One ', 'two ', 'three.'].map((delta) => ({ type: 'text-delta', id: 't', delta }) as const)
    const parts = [{ type: 'text-start', id: 't' } as const, { wait: begun.passed }, ...deltas, { type: 'text-end', id: 't' } as const]
    const it = await bench({ store: make(), steps: [{ parts }] })
    const execute = await it.execute({ sessionId: 'mine', input: say('count'), context: {} })
    const frames: Frame[] = []
    for await (const frame of framesOf(await it.get(`${events}?from=start`))) {
      frames.push(frame)
      // The message is complete before the reader reads on.
      if (frame.data.type === 'message-start') {
        begun.open()
        await allFrames(execute)
      }
      if (frame.data.type === 'settled') break
    }
    expect(frames.flatMap(({ data }) => (data.type === 'text-delta' ? [data.delta] : [])).join('')).toBe('One two three.')
  })

  it('V34: closing any stream never stops a run', async () => {
    const hold = gate()
    const it = await bench({ store: make(), steps: [{ parts: [{ wait: hold.passed }], text: 'Done.' }] })
    await framesUntil(await it.execute({ sessionId: 'mine', input: say('hi'), context: {} }), isType('message-start'))
    await framesUntil(await it.get(`${events}?from=start`), isType('message-start'))
    const reading = await it.get(`${events}?until=settled`)
    hold.open()
    await allFrames(reading)
    const view = (await (await it.get('/api/agent/session/mine')).json()) as SessionView
    expect(view.messages.at(-1)).toMatchObject({ role: 'assistant', stopReason: 'stop' })
  })
})

it('V40: a reader that does not read slows down neither the run nor other readers', async () => {
  const text = 'x'.repeat(200_000)
  const it = await bench({ steps: [{ text, chunk: 100 }] })
  const idle = await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
  const other = await framesUntil(await it.get(`${events}?from=start`), isType('settled'))
  expect(typesOf(other)).toContain('turn-end')
  await idle.body?.cancel()
})

it('V29: the view of a session and a stream from its cursor together are complete', async () => {
  const it = await bench({ steps: [{ text: 'One.' }, { text: 'Two.' }] })
  await say1(it, 'first', {})
  const view = (await (await it.get('/api/agent/session/mine')).json()) as SessionView
  await say1(it, 'second')
  const rest = await framesUntil(await it.get(`${events}?cursor=${view.cursor}`), isType('settled'))
  const texts = eventsOf(rest).flatMap((event) => (event.type === 'message-end' ? [event.message] : []))
  const now = (await (await it.get('/api/agent/session/mine')).json()) as SessionView
  expect([...view.messages, ...now.messages.slice(view.messages.length)]).toEqual(now.messages)
  expect(now.messages.at(-1)).toEqual(texts[0])
})
