import { isDurable } from '@bowline/agent-loop/events'
import type { LoggedEvent, LogIterator } from '@bowline/sessions'
import type { Step } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import { collect, gate, logOf, setup, types } from '../support.ts'

/** Returns all events that are available now: the next one, and those that `take` returns after it. */
async function atHand(reading: LogIterator): Promise<LoggedEvent[]> {
  const { value, done } = await reading.next()
  const events = done ? [] : [value]
  for (let event = reading.take(); event; event = reading.take()) events.push(event)
  return events
}

async function nextOf(reading: LogIterator): Promise<LoggedEvent> {
  const { value, done } = await reading.next()
  if (done) throw new Error('The log ended.')
  return value
}

/** Returns a message that waits after its first delta. */
function held(
  passed: Promise<void>,
  deltas: readonly { readonly type: 'text-delta'; readonly id: string; readonly delta: string }[],
): NonNullable<Step['parts']> {
  const first = { type: 'text-delta', id: 't', delta: 'x'.repeat(100) } as const
  return [{ type: 'text-start', id: 't' }, first, { wait: passed }, ...deltas, { type: 'text-end', id: 't' }]
}

it('S115: take() gives the available events at once, and they equal the events read one by one', async () => {
  const go = gate()
  const deltas = Array.from({ length: 20 }, (_, place) => ({ type: 'text-delta', id: 't', delta: `${place} ` }) as const)
  const { runtime } = setup({ steps: [{ parts: held(go.passed, deltas) }] })
  await runtime.start()
  const session = runtime.session('room:1')
  await session.open()
  const whole: LoggedEvent[] = []
  const watching = (async () => {
    for await (const event of session.events()) {
      whole.push(event)
      if (event.type === 'settled') return
    }
  })()
  const reading = session.events()[Symbol.asyncIterator]()
  const seen = await atHand(reading)
  expect(types(seen)).toEqual(['session-start'])
  await session.send('go')
  while (seen.at(-1)?.type !== 'text-delta') seen.push(...(await atHand(reading)))
  go.open()
  await watching
  const deltasAtHand = await atHand(reading)
  expect(types(deltasAtHand)).toEqual([...deltas.map(() => 'text-delta'), 'text-end'])
  seen.push(...deltasAtHand)
  while (seen.at(-1)?.type !== 'settled') seen.push(...(await atHand(reading)))
  expect(seen).toEqual(whole)
  await reading.return?.()
  expect(reading.take()).toBeUndefined()

  const fromStart = session.events({ live: false })[Symbol.asyncIterator]()
  const first = await atHand(fromStart)
  expect(first).toEqual((await logOf(session)).slice(0, first.length))
  expect(first.length).toBeGreaterThan(1)
  await runtime.stop()
})

it('S117: a reader may ask for a smaller buffer; it then misses deltas, but never the message', async () => {
  const go = gate()
  const deltas = Array.from({ length: 200 }, () => ({ type: 'text-delta', id: 't', delta: 'x'.repeat(100) }) as const)
  const { runtime } = setup({ steps: [{ parts: held(go.passed, deltas) }] })
  await runtime.start()
  const session = runtime.session('room:1')
  await session.open()
  const readings = [10_000, undefined].map((bufferBytes) => session.events({ ...(bufferBytes && { bufferBytes }) })[Symbol.asyncIterator]())
  const run = await session.send('go')
  for (const reading of readings) while ((await nextOf(reading)).type !== 'text-delta');
  go.open()
  await run.result()
  const counts: number[] = []
  for (const reading of readings) {
    const seen = [await nextOf(reading)]
    while (seen.at(-1)?.type !== 'settled') seen.push(await nextOf(reading))
    expect(seen.find((event) => event.type === 'message-end')).toMatchObject({ message: { content: [{ text: 'x'.repeat(20_100) }] } })
    counts.push(types(seen).filter((type) => type === 'text-delta').length)
  }
  expect(counts[1]).toBe(200)
  expect(counts[0]).toBeLessThan(50)
  await runtime.stop()
})

it('V101: a read of the log so far ends with the deltas of the open message, and waits for nothing', async () => {
  const go = gate()
  const { runtime } = setup({ steps: [{ parts: held(go.passed, []) }] })
  await runtime.start()
  const session = runtime.session('room:1')
  await session.open()
  const soFar = () => collect(session.events({ live: 'so-far' }))
  expect(await soFar()).toEqual(await logOf(session))
  const run = await session.send('go')
  const seen: LoggedEvent[] = []
  const reading = session.events()[Symbol.asyncIterator]()
  while (seen.at(-1)?.type !== 'text-delta') seen.push(await nextOf(reading))
  expect(await soFar()).toEqual(seen)
  expect(await collect(session.events({ live: 'so-far', cursor: seen.at(-2)?.cursor ?? '' }))).toEqual(seen.slice(-1))
  expect(await collect(session.events({ live: 'so-far', runId: run.runId, cursor: seen.at(-1)?.cursor ?? '' }))).toEqual([])
  go.open()
  await run.result()
  while (seen.at(-1)?.type !== 'settled') seen.push(await nextOf(reading))
  expect((await soFar()).filter(isDurable)).toEqual(await logOf(session))
  await runtime.stop()
})
