import type { LoggedEvent, Session } from '@bowline/sessions'
import { manualClock, scriptedModel, type Step } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { gate, setup } from '../support.ts'
import { sharedDeltas } from './shared-deltas.ts'

const piece = (type: 'text' | 'reasoning', id: string, delta: string) => ({ type: `${type}-delta`, id, delta }) as const
const start = (type: 'text' | 'reasoning', id: string) => ({ type: `${type}-start`, id }) as const
const end = (type: 'text' | 'reasoning', id: string) => ({ type: `${type}-end`, id }) as const

/** An answer of blocks that come one after the other. */
const sequence: Step = {
  parts: [
    ...[start('reasoning', 'r'), piece('reasoning', 'r', 'I '), piece('reasoning', 'r', 'think. '), end('reasoning', 'r')],
    ...[start('text', 'a'), piece('text', 'a', 'Oslo '), piece('text', 'a', 'is '), piece('text', 'a', '👋 cold.'), end('text', 'a')],
    ...[start('text', 'b'), piece('text', 'b', 'Lima '), piece('text', 'b', 'is not.'), end('text', 'b')],
  ],
}
/** An answer of blocks that are written at the same time. */
const mixed: Step = {
  parts: [
    ...[start('text', 'a'), start('reasoning', 'r'), piece('reasoning', 'r', 'first '), start('text', 'b'), piece('text', 'b', 'B1 ')],
    ...[piece('text', 'a', 'A1 '), piece('reasoning', 'r', 'second'), end('reasoning', 'r'), piece('text', 'b', 'B2'), end('text', 'b')],
    ...[piece('text', 'a', 'A2'), end('text', 'a')],
  ],
}
const withdrawn: Step = {
  text: 'This is not the answer.',
  chunk: 4,
  failAfter: { parts: 3, error: new Error('the line broke'), as: 'throw' },
}

/** Expects that no position is that of an earlier event: a client drops what it has had. */
function expectForward(events: readonly LoggedEvent[]): void {
  const places = events.map(({ cursor }) => cursor.split('.').map(Number))
  for (const [index, [seq = 0, n = 0]] of places.entries()) {
    const [before = 0, deltas = 0] = places[index - 1] ?? []
    expect(seq > before || (seq === before && n > deltas), `${events[index]?.cursor} after ${events[index - 1]?.cursor}`).toBe(true)
  }
}

type Blocks = Readonly<Record<string, string>>

/** Returns the text of each block of each message, as a reader has it that only adds deltas. */
function added(events: readonly LoggedEvent[]): Blocks {
  const blocks: Record<string, string> = {}
  for (const event of events) {
    if (event.type === 'text-delta' || event.type === 'reasoning-delta') {
      const place = `${event.messageId}/${event.index}`
      blocks[place] = (blocks[place] ?? '') + event.delta
    }
    if (event.type === 'message-discarded')
      for (const place of Object.keys(blocks)) if (place.startsWith(`${event.messageId}/`)) delete blocks[place]
  }
  return blocks
}

/** Returns the text of each block of each message as it is stored. */
async function stored(session: Session): Promise<Blocks> {
  const { items } = await session.messages()
  const texts = items.flatMap((message) => {
    if (message.role !== 'assistant') return []
    return message.content.flatMap((part, index) =>
      part.type === 'text' || part.type === 'reasoning' ? [[`${message.id}/${index}`, part.text] as const] : [],
    )
  })
  return Object.fromEntries(texts)
}

async function untilRest(session: Session, cursor?: string): Promise<LoggedEvent[]> {
  const seen: LoggedEvent[] = []
  for await (const event of session.events(cursor === undefined ? {} : { cursor })) {
    seen.push(event)
    if (event.type === 'settled') break
  }
  return seen
}

/** Lets a run of one session end, on the same store that another process reads. At each part of an answer, calls `atPart`. */
async function run(steps: readonly Step[], atPart?: (seen: readonly LoggedEvent[], sessions: readonly Session[]) => void) {
  const [clock, memory, shared] = [manualClock(), memoryStore(), sharedDeltas()]
  const gates = steps.map(({ parts = [] }) => parts.map(() => gate()))
  const held = steps.map((step, place): Step => {
    if (!step.parts) return step
    return { ...step, parts: step.parts.flatMap((part, index) => [{ wait: gates[place]?.[index]?.passed ?? Promise.resolve() }, part]) }
  })
  const here = setup({ steps: [], agent: { model: scriptedModel(held, { clock }) }, store: shared.over(memory), clock })
  const elsewhere = setup({ steps: [], store: shared.over(memory), clock, concurrency: 0 })
  await here.runtime.start()
  await elsewhere.runtime.start()
  const sessions = [here, elsewhere].map(({ runtime }) => runtime.session('room:1'))
  const [session = here.runtime.session('room:1')] = sessions
  await session.open()
  const seen: LoggedEvent[] = []
  const reading = (async () => {
    for await (const event of session.events()) {
      seen.push(event)
      if (event.type === 'settled') return
    }
  })()
  let isOver = false
  const result = session
    .send('go')
    .then((handle) => handle.result())
    .finally(() => (isOver = true))
  for (const next of gates.flat()) {
    // Deltas reach the other process after 30 ms.
    for (let passed = 0; passed < 60; passed += 5) await clock.advance(5)
    atPart?.([...seen], sessions)
    next.open()
  }
  while (!isOver) await clock.advance(1000)
  expect(await result).toMatchObject({ status: 'completed' })
  await reading
  const stop = async (): Promise<void> => {
    await here.runtime.stop()
    await elsewhere.runtime.stop()
    expect([...here.faults, ...elsewhere.faults]).toEqual([])
  }
  return { seen, sessions, final: await stored(session), stop }
}

describe('S115: a reader that only adds deltas gets each character once', () => {
  it('over all cuts after the end, twice, in its process and in another one, also of an attempt that is withdrawn', async () => {
    const { seen, sessions, final, stop } = await run([withdrawn, sequence])
    expect(Object.values(final)).toEqual(['I think. ', 'Oslo is 👋 cold.', 'Lima is not.'])
    expect(added(seen)).toEqual(final)
    for (const session of sessions) {
      expect(added(await untilRest(session))).toEqual(final)
      for (const [place, { cursor }] of seen.slice(0, -1).entries()) {
        const before = seen.slice(0, place + 1)
        const after = await untilRest(session, cursor)
        expect(added([...before, ...after]), `cut after ${cursor}`).toEqual(final)
        expectForward([...before, ...after])
        const owed = after.findIndex((event) => 'catchUp' in event)
        if (owed < 0) continue
        const again = await untilRest(session, after[owed]?.cursor)
        expect(added([...before, ...after.slice(0, owed + 1), ...again]), `cut after ${cursor} and ${after[owed]?.cursor}`).toEqual(final)
      }
    }
    await stop()
  })

  it('over all cuts at all moments of an answer whose blocks are written at the same time', async () => {
    const readers: { readonly before: readonly LoggedEvent[]; readonly rest: Promise<LoggedEvent[]> }[] = []
    const { seen, sessions, final, stop } = await run([mixed], (soFar, all) => {
      for (const session of all) {
        for (const [place, { cursor }] of soFar.entries())
          readers.push({ before: soFar.slice(0, place + 1), rest: untilRest(session, cursor) })
      }
    })
    expect(Object.values(final)).toEqual(['first second', 'B1 B2', 'A1 A2'])
    expect(added(seen)).toEqual(final)
    for (const { before, rest } of readers) expect(added([...before, ...(await rest)]), `cut after ${before.at(-1)?.cursor}`).toEqual(final)
    for (const session of sessions) {
      for (const [place, { cursor }] of seen.slice(0, -1).entries()) {
        expect(added([...seen.slice(0, place + 1), ...(await untilRest(session, cursor))]), `cut after ${cursor}`).toEqual(final)
      }
    }
    await stop()
  })
})
