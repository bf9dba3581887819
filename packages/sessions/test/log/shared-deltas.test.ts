import { manualClock, scriptedModel } from '@bowline/llm/testing'
import type { LoggedEvent, Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, gate, setup, types, type SetupOptions } from '../support.ts'
import { sharedDeltas } from './shared-deltas.ts'

const text = Array.from({ length: 40 }, (_, index) => `word ${index}, `)

/** Returns a message of forty words, one every 10 ms. Its second half waits for `go`. */
function story(go: Promise<void>): SetupOptions['steps'] {
  const words = text.flatMap((delta) => [{ sleep: 10 }, { type: 'text-delta', id: 't', delta } as const])
  const parts = [
    { type: 'text-start', id: 't' } as const,
    ...words.slice(0, 40),
    { wait: go },
    ...words.slice(40),
    { type: 'text-end', id: 't' } as const,
  ]
  return [{ parts }, { parts }]
}

/** Creates a runtime that reads and one that executes, like two processes on one store. */
async function two() {
  const clock = manualClock()
  const go = gate()
  const memory = memoryStore()
  const shared = sharedDeltas()
  const reading = setup({ steps: [], store: shared.over(memory), clock, concurrency: 0 })
  const model = scriptedModel(story(go.passed), { clock })
  const executing = setup({ steps: [], agent: { model }, store: shared.over(memory), clock })
  await reading.runtime.start()
  await executing.runtime.start()
  await reading.runtime.session('room:1').open()
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5) await clock.advance(5)
  }
  const stop = async (): Promise<void> => {
    await reading.runtime.stop()
    await executing.runtime.stop()
    expect([...reading.faults, ...executing.faults]).toEqual([])
  }
  return { clock, go: go.open, shared, pass, stop, here: executing.runtime.session('room:1'), elsewhere: reading.runtime.session('room:1') }
}

/** Follows a session. Returns the events so far, and a promise for the end. */
function follow(session: Session, cursor?: string, turns = 1) {
  let left = turns
  const seen: LoggedEvent[] = []
  const done = (async () => {
    for await (const event of session.events(cursor === undefined ? {} : { cursor })) {
      seen.push(event)
      if (event.type === 'settled') left -= 1
      if (left === 0) return
    }
  })()
  return { seen, done, words: () => seen.flatMap((event) => (event.type === 'text-delta' ? event.delta : [])) }
}

/**
 * Expects the same events. The last deltas of a message may be missing, because its last durable event may overtake them: then their
 * text comes before it in one delta.
 */
function expectSame(given: readonly LoggedEvent[], expected: readonly LoggedEvent[]): void {
  const seen = given.filter((event) => !isCatchUp(event))
  expect(textOf(given)).toBe(textOf(expected))
  const cursors = new Set(seen.map(({ cursor }) => cursor))
  const missing = expected.filter(({ cursor }) => !cursors.has(cursor))
  expect(seen).toEqual(expected.filter((event) => !missing.includes(event)))
  expect(missing.length).toBeLessThan(8)
  const end = expected.findIndex(({ type }) => type === 'message-end')
  expect(missing).toEqual(expected.slice(end - missing.length, end))
}

function isCatchUp(event: LoggedEvent): boolean {
  return 'catchUp' in event
}

function textOf(events: readonly LoggedEvent[]): string {
  return events.map((event) => (event.type === 'text-delta' ? event.delta : '')).join('')
}

describe('S188: deltas that another process makes', () => {
  it('S188, S115: reach a reader while the message is written, as a reader there gets them', async () => {
    const { go, shared, pass, stop, here, elsewhere } = await two()
    const [near, far] = [follow(here), follow(elsewhere)]
    await here.send('go')
    await pass(300)
    expect(near.words()).toEqual(text.slice(0, 20))
    expect(far.words()).toEqual(text.slice(0, 20))
    go()
    await pass(300)
    await Promise.all([near.done, far.done])
    expectSame(far.seen, near.seen)
    for (const { events } of shared.pushed) expect(events.length).toBeLessThanOrEqual(20)
    expect(shared.pushed.length).toBeGreaterThan(10)
    // The commit of the whole message replaces the deltas that were not pushed yet.
    expect(shared.pushed.flatMap(({ events }) => types(events as LoggedEvent[]))).not.toContain('text-end')
    await checkLog(elsewhere)
    await stop()
  })

  it('S188, S119: reach readers that come late or come back, from their position on', async () => {
    const { go, pass, stop, here, elsewhere } = await two()
    const near = follow(here)
    await here.send('go')
    await pass(300)
    const tenth = near.seen.filter((event) => event.type === 'text-delta')[9]
    const [late, back] = [follow(elsewhere), follow(elsewhere, tenth?.cursor)]
    await pass(10)
    expect(late.words()).toEqual(text.slice(0, 20))
    expect(back.words()).toEqual(text.slice(10, 20))
    go()
    await pass(300)
    await Promise.all([near.done, late.done, back.done])
    expectSame(late.seen, near.seen)
    expectSame(back.seen, near.seen.slice(near.seen.indexOf(tenth as LoggedEvent) + 1))
    await stop()
  })

  it('S188: are read once for all readers of a process, and not at all without a reader', async () => {
    const { go, shared, pass, stop, here, elsewhere } = await two()
    const near = follow(here)
    await here.send('go')
    await pass(100)
    expect(shared.reads()).toBe(0)
    const readers = [follow(elsewhere), follow(elsewhere), follow(elsewhere)]
    await pass(100)
    const [before, pushed] = [shared.reads(), shared.pushed.length]
    await pass(100)
    expect(shared.reads() - before).toBeLessThanOrEqual(shared.pushed.length - pushed)
    go()
    await pass(300)
    await Promise.all([near, ...readers].map(({ done }) => done))
    for (const { seen } of readers) expectSame(seen, near.seen)
    await stop()
  })

  it('S118: come after the event that they follow, even without a hint about it', async () => {
    const { go, shared, pass, stop, here, elsewhere } = await two()
    const far = follow(elsewhere)
    await pass(20)
    shared.tellsCommits = false
    await here.send('go')
    await pass(300)
    expect(types(far.seen)).toEqual([
      ...['session-start', 'run-queued', 'user-message', 'turn-start', 'step-start', 'message-start', 'text-start'],
      ...Array.from({ length: 20 }, () => 'text-delta'),
    ])
    shared.tellsCommits = true
    go()
    await pass(300)
    await far.done
    await stop()
  })

  it('S119: deltas of an earlier run reach no reader of the next one', async () => {
    const { go, pass, stop, here, elsewhere } = await two()
    const leaving = new AbortController()
    const read = (async () => {
      for await (const event of elsewhere.events({ abortSignal: leaving.signal })) expect(event.at).toBeGreaterThanOrEqual(0)
    })()
    await here.send('go')
    await pass(300)
    go()
    await pass(400)
    const next = await here.send('and again')
    await pass(10)
    const late = follow(elsewhere, undefined, 2)
    await pass(800)
    leaving.abort()
    await Promise.all([read, late.done])
    const start = late.seen.findLastIndex(({ type }) => type === 'message-start')
    const deltas = late.seen.flatMap((event, index) =>
      event.type === 'text-delta' && !isCatchUp(event) ? [[event.runId === next.runId, index > start]] : [],
    )
    expect(deltas).toEqual(Array.from({ length: deltas.length }, () => [true, true]))
    await stop()
  })

  it('S187: come with the poll if there is no hint', async () => {
    const { clock, go, shared, pass, stop, here, elsewhere } = await two()
    shared.tells = false
    const far = follow(elsewhere)
    await here.send('go')
    await pass(300)
    await clock.advance(1_000)
    await clock.advance(0)
    expect(far.words()).toEqual(text.slice(0, 20))
    go()
    await pass(300)
    await far.done
    await stop()
  })

  it('S188: are dropped first if the store is too slow, and the message arrives whole', async () => {
    const { go, shared, pass, stop, here, elsewhere } = await two()
    const held = gate()
    shared.hold = held.passed
    const far = follow(elsewhere)
    await here.send('go')
    await pass(300)
    go()
    await pass(300)
    await far.done
    expect(shared.pushed).toHaveLength(1)
    expect(far.words()).toEqual([text.join('')])
    held.open()
    await pass(50)
    await stop()
  })
})
