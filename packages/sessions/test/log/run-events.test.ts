import { isDurable } from '@bowline/agent-loop/events'
import type { RunHandle, LoggedEvent, Session } from '@bowline/sessions'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { callTo, childrenOf, endOf, guarded, handOver, helper, launch, remote, team } from '../children/support.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { collect, gate, types } from '../support.ts'

const place = placesOfStores()

interface LaggingReader {
  /** Resolves with the remaining events, once the test lets the reader continue. */
  rest(): Promise<readonly LoggedEvent[]>
}

/** Creates a reader that takes one event, requests the next, and does not read it before the test says so. */
async function lagging(events: AsyncIterable<LoggedEvent>): Promise<LaggingReader> {
  const reading = events[Symbol.asyncIterator]()
  const taken = [await reading.next(), reading.next()]
  return {
    async rest() {
      const all: LoggedEvent[] = []
      const results = [...taken]
      for (let result = await results.shift(); result && !result.done; result = await (results.shift() ?? reading.next()))
        all.push(result.value)
      return all
    },
  }
}

describe.each(namesOfPlaces)('the events of a run over the %s store', (name) => {
  /** Creates a run whose model delegates to a subagent that answers at once. The run is held after the first delta. */
  async function heldRun() {
    const [store] = place(name)
    const go = gate()
    const delta = (text: string) => ({ type: 'text-delta', id: 't', delta: text }) as const
    const parts = [
      { type: 'text-start', id: 't' } as const,
      delta('I ask '),
      { wait: go.passed },
      delta('for it'),
      { type: 'text-end', id: 't' } as const,
    ]
    const steps: Step[] = [{ parts, toolCalls: [handOver('d', 'scout')] }, { text: 'the answer' }]
    const made = await team(steps, { store, subagents: [helper('scout', [{ text: 'it is there' }])] })
    const run = await made.session.send('go')
    return { ...made, run, go }
  }

  const readers: Readonly<Record<string, (run: RunHandle, session: Session) => AsyncIterable<LoggedEvent>>> = {
    'the handle': (run) => run,
    'events() of the handle': (run) => run.events(),
    'a small buffer': (run) => run.events({ bufferBytes: 1 }),
    'the session by runId': (run, session) => session.events({ runId: run.runId }),
  }

  it.each(Object.keys(readers))(
    'S117, S123: a lagging reader of %s gets the answer that follows a subagent that ends at once',
    async (kind) => {
      const { runtime, session, run, go } = await heldRun()
      const reader = await lagging(readers[kind]!(run, session))
      go.open()
      expect(await run.result()).toMatchObject({ status: 'completed', text: 'the answer' })
      const seen = types(await reader.rest())
      expect(seen.filter((type) => type === 'turn-start')).toHaveLength(2)
      expect(seen.slice(-2)).toEqual(['turn-end', 'save-point'])
      expect(seen.filter((type) => type === 'message-end')).toHaveLength(2)
      await runtime.stop()
    },
  )

  it.each(Object.keys(readers))(
    'S117, S123: %s, paused at a delta, gets all later text of the run, in one delta per message if it does not fit',
    async (kind) => {
      const { runtime, session, run, go } = await heldRun()
      const reading = readers[kind]!(run, session)[Symbol.asyncIterator]()
      // A reader that got a delta is subscribed: later events wait in its queue.
      while ((await reading.next()).value?.type !== 'text-delta');
      go.open()
      await run.result()
      const seen = await collect({ [Symbol.asyncIterator]: () => reading })
      const deltas = seen.flatMap((event) => (event.type === 'text-delta' ? [event] : []))
      expect(deltas.map(({ delta }) => delta).join('')).toBe('for itthe answer')
      expect(deltas.map(({ catchUp }) => catchUp === true)).toEqual(deltas.map(() => kind === 'a small buffer'))
      expect(seen.filter(({ type }) => type === 'message-end')).toHaveLength(2)
      expect(types(seen).slice(-2)).toEqual(['turn-end', 'save-point'])
      await runtime.stop()
    },
  )

  it.each(['ends', 'asks'] as const)(
    'S119, S147: a background subagent that %s neither drops nor repeats a delta of the open message',
    async (what) => {
      const [store] = place(name)
      const [reached, told, goOn] = [gate(), gate(), gate()]
      const ends = { text: 'found' }
      const asks = { toolCalls: [callTo('g', 'guarded')] }
      const scout = helper('scout', async () => (await told.passed, what === 'ends' ? ends : asks), { tools: [guarded('guarded')] })
      const delta = (text: string) => ({ type: 'text-delta', id: 't', delta: text }) as const
      const parts = [
        { type: 'text-start', id: 't' } as const,
        delta('one '),
        { wait: goOn.passed },
        delta('two'),
        { type: 'text-end', id: 't' } as const,
      ]
      const { runtime, session } = await team([{ toolCalls: [launch('d', 'scout')] }, { parts }, { text: 'I see' }], {
        store,
        subagents: [scout],
      })
      const run = await session.send('go')
      const deltasOf = async (events: AsyncIterable<LoggedEvent>) => {
        const deltas: string[] = []
        for await (const event of events) {
          if (event.type === 'text-delta' && deltas.push(event.delta) === 1) reached.open()
          if (event.type === 'turn-end') break
        }
        return deltas
      }
      const early = deltasOf(run.events())
      await reached.passed
      const [child] = await childrenOf(store)
      const before = (await session.info())?.cursor
      told.open()
      await (what === 'ends' ? endOf(store, child?.id ?? '') : endOf(store, child?.id ?? '', 'awaiting-approval'))
      expect((await session.info())?.cursor).not.toBe(before)
      const late = deltasOf(run.events())
      goOn.open()
      const expected = ['one ', 'two', ...(what === 'ends' ? ['I see'] : [])]
      expect(await Promise.all([early, late])).toEqual([expected, expected])
      await runtime.stop()
    },
  )

  it('S117, S123: attached at any event of the run, a reader ends where an undisturbed one does', async () => {
    const { runtime, session, run, go } = await heldRun()
    go.open()
    await run.result()
    const durable: LoggedEvent[] = []
    for await (const event of session.events({ live: false }))
      if ('runId' in event && event.runId === run.runId && event.type !== 'settled') durable.push(event)
    for (const [index, { cursor }] of durable.entries()) {
      const seen: LoggedEvent[] = []
      for await (const event of run.events({ cursor })) seen.push(event)
      expect(seen.filter(isDurable)).toEqual(durable.slice(index + 1))
    }
    await runtime.stop()
  })

  it.each(['before', 'while'] as const)(
    'S117, S123: attached %s a run waits, a lagging reader continues with the segment after the answers',
    async (moment) => {
      const [store] = place(name)
      const steps: Step[] = [{ toolCalls: [callTo('r', 'ask')] }, { text: 'done' }]
      const { runtime, session } = await team(steps, { store, tools: [remote('ask')], subagents: [] })
      const run = await session.send('go')
      const before = moment === 'before' ? await lagging(run.events()) : undefined
      expect(await run.result()).toMatchObject({ status: 'awaiting-tools' })
      const reader = before ?? (await lagging(run.events()))
      await session.submitToolResults([{ toolCallId: 'r', output: { type: 'text', value: 'yes' } }])
      expect(await run.result()).toMatchObject({ status: 'completed' })
      expect(types(await reader.rest()).filter((type) => type === 'turn-end')).toHaveLength(2)
      await runtime.stop()
    },
  )

  it('S123: while a run waits its events end at the end of its segment, even if other runs write to the log', async () => {
    const [store] = place(name)
    const { runtime, session } = await team([{ toolCalls: [callTo('r', 'ask')] }], { store, tools: [remote('ask')], subagents: [] })
    const run = await session.send('go')
    await run.result()
    await session.send('later', { onBusy: 'queue' })
    expect(types(await collect(run)).at(-1)).toBe('save-point')
    await runtime.stop()
  })

  it('S123, S126: the events of a run that is stopped before it starts end with its turn-end', async () => {
    const [store] = place(name)
    const { runtime, session } = await team([{ toolCalls: [callTo('r', 'ask')] }], { store, tools: [remote('ask')], subagents: [] })
    await (await session.send('go')).result()
    const queued = await session.send('later', { onBusy: 'queue' })
    const reading = collect(queued)
    await queued.stop()
    expect(types(await reading)).toEqual(['run-queued', 'turn-end'])
    await runtime.stop()
  })
})
