import { describe, expect, it } from 'vitest'
import type { BridgeEvent } from '../src/index.ts'
import { createEventReaders } from '../src/requests/event-readers.ts'
import { answer, startBridge, testAgent } from './support.ts'

const delta = (text: string): BridgeEvent => ({ type: 'text-delta', delta: text })

const loopEvent = (durable: boolean): BridgeEvent =>
  durable
    ? { type: 'agent-event', event: { type: 'save-point', at: 0, runId: 'run', turn: 1 } }
    : {
        type: 'agent-event',
        event: { type: 'text-delta', at: 0, runId: 'run', turn: 1, step: 1, messageId: 'm', index: 0, delta: 'x' },
      }

async function readAll(events: AsyncIterator<BridgeEvent>): Promise<BridgeEvent[]> {
  const all: BridgeEvent[] = []
  for (let step = await events.next(); !step.done; step = await events.next()) all.push(step.value)
  return all
}

describe('readers of a run', () => {
  it('every reader that begins at the start sees every event, and the end', async () => {
    const onPrompt = async function* (): AsyncGenerator<BridgeEvent> {
      yield { type: 'progress', message: 'thinking' }
      yield delta('one')
      yield { type: 'result', result: answer('one') }
    }
    const { bridge } = await startBridge([testAgent('a', { onPrompt })])
    const run = bridge.delegate({ prompt: 'hi' })
    const read = () => readAll(run[Symbol.asyncIterator]())
    const [first, second] = await Promise.all([read(), read()])
    expect(first.map(({ type }) => type)).toEqual(['progress', 'text-delta', 'result'])
    expect(second).toEqual(first)
    expect(await read()).toEqual([])
  })

  it('a reader that stops does not stop the work', async () => {
    const onPrompt = async function* (): AsyncGenerator<BridgeEvent> {
      yield delta('one ')
      yield { type: 'progress' }
      yield delta('two')
    }
    const { bridge } = await startBridge([testAgent('a', { onPrompt })])
    const run = bridge.delegate({ prompt: 'hi' })
    for await (const _event of run) break
    expect(await run.result()).toMatchObject({ ok: true, text: 'one two' })
  })

  it('for a slow reader text grows in place and only the last progress is kept', async () => {
    const readers = createEventReaders()
    const reader = readers.open()
    for (let n = 0; n < 50_000; n++) readers.publish(delta('x'))
    readers.publish({ type: 'progress', progress: 1 })
    readers.publish({ type: 'progress', progress: 2 })
    readers.end()
    expect(await readAll(reader)).toEqual([delta('x'.repeat(50_000)), { type: 'progress', progress: 2 }])
  })

  it('a slow reader loses deltas of the loop, never an event that is stored', async () => {
    const readers = createEventReaders()
    const reader = readers.open()
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 20_000; n++) readers.publish(loopEvent(n === 0))
      expect(await reader.next()).toEqual({ done: false, value: loopEvent(true) })
      for (let n = 1; n < 10_000; n++) expect((await reader.next()).value).toBeDefined()
    }
    readers.end()
    expect(await readAll(reader)).toEqual([])
  })

  it('a reader that is too late is ended with CAPACITY, and the others go on', async () => {
    const readers = createEventReaders()
    const slow = readers.open()
    for (let n = 0; n <= 10_000; n++) readers.publish(loopEvent(true))
    const late = readers.open()
    readers.publish(delta('x'))
    readers.end()
    await expect(slow.next()).rejects.toMatchObject({ code: 'CAPACITY', details: { reason: 'slow-reader' } })
    expect(await slow.next()).toEqual({ done: true, value: undefined })
    expect(await readAll(late)).toEqual([delta('x')])
  })

  it('return() of a waiting reader resolves its wait', async () => {
    const readers = createEventReaders()
    const reader = readers.open()
    const waiting = reader.next()
    await reader.return?.()
    expect(await waiting).toEqual({ done: true, value: undefined })
  })
})
