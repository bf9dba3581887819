import { defineAgent, type AgentRun } from '@bowline/agent-loop'
import { emptyView, missingDeltas, reduceEvents, type AgentEvent } from '@bowline/agent-loop/events'
import { checkEvents } from '@bowline/testing'
import { scriptedModel } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'

const parts = [
  ...[
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: 'Hm, ' },
    { type: 'reasoning-delta', id: 'r', delta: 'well.' },
    { type: 'reasoning-end', id: 'r' },
  ],
  ...[
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'One ' },
    { type: 'text-delta', id: 't', delta: 'two ' },
  ],
  ...[
    { type: 'text-delta', id: 't', delta: 'three.' },
    { type: 'text-end', id: 't' },
  ],
] as const
const whole = ['Hm, well.', 'One two three.', 'Bye.']

/** Starts a run whose first answer waits before one of its parts, until `go` is called, and two parts later until `goOn` is called. */
function startHeld(place: number) {
  const [held, heldAgain] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const call = { type: 'tool-call', toolCallId: 'c', toolName: 'gone', input: '{}' } as const
  const [first, second, third] = [parts.slice(0, place), parts.slice(place, place + 2), parts.slice(place + 2)]
  const model = scriptedModel([
    { parts: [...first, { wait: held.promise }, ...second, { wait: heldAgain.promise }, ...third, call] },
    { text: 'Bye.' },
  ])
  const run = defineAgent({ model }).run('go')
  return { run, go: () => held.resolve(), goOn: () => heldAgain.resolve() }
}

/** A reader that pauses from `pause` on, or after so many events, until `resume`. */
function follow(run: AgentRun, pauseAfter = Infinity) {
  let resumed = Promise.withResolvers<void>()
  const seen: AgentEvent[] = []
  let isPaused = false
  const done = (async () => {
    for await (const event of run.events()) {
      seen.push(event)
      if (isPaused || seen.length === pauseAfter) await resumed.promise
    }
  })()
  const pause = (): void => {
    isPaused = true
    resumed = Promise.withResolvers()
  }
  const resume = (): void => {
    isPaused = false
    resumed.resolve()
  }
  return { seen, done, pause, resume }
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/** Returns the text and reasoning of each answer, as a reader has them that only adds deltas. */
function added(events: readonly AgentEvent[]): readonly string[] {
  const blocks: Record<string, string> = {}
  for (const event of events) {
    if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') continue
    const place = `${event.messageId}/${event.index}`
    blocks[place] = (blocks[place] ?? '') + event.delta
  }
  return Object.values(blocks)
}

describe('A18: a reader that only adds deltas gets each character once', () => {
  it('if it pauses at any part of an answer until the run is over, and folds to the view of all readers', async () => {
    for (let place = 0; place <= parts.length; place++) {
      const { run, go, goOn } = startHeld(place)
      const [quick, slow] = [follow(run), follow(run)]
      await settle()
      slow.pause()
      go()
      await settle()
      slow.resume()
      await settle()
      slow.pause()
      goOn()
      await run.result()
      slow.resume()
      await Promise.all([quick.done, slow.done])
      expect([added(quick.seen), added(slow.seen)], `pause at ${place}`).toEqual([whole, whole])
      expect(checkEvents(slow.seen)).toEqual([])
      const { messages } = slow.seen.reduce(reduceEvents, emptyView)
      expect(messages).toEqual(slow.seen.filter((event) => !('catchUp' in event)).reduce(reduceEvents, emptyView).messages)
      expect(slow.seen.some((event) => 'catchUp' in event)).toBe(true)
      expect(quick.seen.some((event) => 'catchUp' in event)).toBe(false)
    }
  })

  it('if it begins at any part of an answer, and pauses after any event', async () => {
    for (let place = 0; place <= parts.length; place++) {
      for (let pauseAfter = 1; pauseAfter <= 10; pauseAfter++) {
        const { run, go, goOn } = startHeld(place)
        goOn()
        await settle()
        const late = follow(run, pauseAfter)
        await settle()
        go()
        await run.result()
        late.resume()
        await late.done
        expect(added(late.seen), `begins at ${place}, pauses after ${pauseAfter}`).toEqual(whole)
      }
    }
  })

  it('without deltas it gets none', async () => {
    const { run, go, goOn } = startHeld(0)
    go()
    goOn()
    await run.result()
    const seen: AgentEvent[] = []
    for await (const event of run.events({ deltas: false })) seen.push(event)
    expect(added(seen)).toEqual([])
    const end = seen.find((event) => event.type === 'message-end')
    const rest = { type: 'text-delta', index: 1, delta: 'two three.', messageId: end?.messageId, catchUp: true }
    expect(missingDeltas(end, [Infinity, 4])).toEqual([expect.objectContaining(rest)])
    expect(missingDeltas(end).map(({ delta }) => delta)).toEqual(whole.slice(0, 2))
    expect(missingDeltas(seen[0])).toEqual([])
  })
})
