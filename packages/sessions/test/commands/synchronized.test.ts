import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, collect, heldScript, logOf, setup, types, userTexts, type SetupOptions } from '../support.ts'

const quick = defineTool({ name: 'quick', description: 'Quick.', inputSchema: z.object({}), effect: 'pure', execute: () => 'ok' })
const steps = [{ toolCalls: [{ id: 'c1', name: 'quick', input: {} }] }, { text: 'done' }]
const boundaries = ['turn-start', 'step-start', 'step-end']

async function started(options: Partial<SetupOptions> = {}) {
  const clock = manualClock()
  const made = setup({ steps, tools: [quick], clock, ...options })
  await made.runtime.start()
  return { ...made, clock, session: made.runtime.session('room:1') }
}

/** Reads up to the next event of one of these types. Asks for no event after it. */
async function readTo(reader: AsyncIterator<LoggedEvent>, ...wanted: readonly string[]): Promise<LoggedEvent | undefined> {
  for (let next = await reader.next(); !next.done; next = await reader.next()) if (wanted.includes(next.value.type)) return next.value
  return undefined
}

describe('mode synchronized', () => {
  it('S31: the run waits at each turn-start, step-start and step-end until the reader asks for more', async () => {
    const { runtime, session, clock } = await started()
    const run = await session.send('go', { mode: 'synchronized' })
    const reader = run[Symbol.asyncIterator]()
    const stood: string[] = []
    for (let event = await readTo(reader, ...boundaries); event; event = await readTo(reader, ...boundaries)) {
      // Lets everything happen that needs no further request of the reader.
      await clock.advance(1_000)
      expect((await logOf(session)).at(-1)?.cursor).toBe(event.cursor)
      stood.push(event.type)
    }
    expect(stood).toEqual(['turn-start', 'step-start', 'step-end', 'step-start', 'step-end'])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    await checkLog(session)
    await runtime.stop()
  })

  it.each(['session', 'run'] as const)(
    'S27, S31: an overlay that the reader gives the %s at the last step-end causes one more model call in this turn',
    async (target) => {
      const texts = { steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }], tools: [] }
      const { runtime, session, model } = await started(texts)
      const run = await session.send('go', { mode: 'synchronized' })
      let given = false
      for await (const event of run) {
        if (event.type !== 'step-end' || given) continue
        given = true
        await (target === 'session' ? session : run).overlay('it is raining')
      }
      expect((await run.result()).text).toBe('two')
      await (await session.send('again')).result()
      expect(model.calls.map(userTexts)).toEqual([['go'], ['go', 'it is raining'], ['go', 'again']])
      expect((await checkLog(session)).filter(({ type }) => type === 'runtime-input')).toMatchObject([
        { source: 'overlay', placement: 'step-end' },
      ])
      await runtime.stop()
    },
  )

  it('S27, S31: an overlay for two turns is shown once in each of them', async () => {
    const { runtime, session, model } = await started({
      steps: [{ text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'four' }],
      tools: [],
    })
    const run = await session.send('go', { mode: 'synchronized' })
    let given = false
    for await (const event of run)
      if (event.type === 'step-end' && !given) await ((given = true), run.overlay('it is raining', { turns: 2 }))
    for (const text of ['again', 'once more']) await (await session.send(text)).result()
    expect(model.calls.map(userTexts)).toEqual([
      ['go'],
      ['go', 'it is raining'],
      ['go', 'it is raining', 'again'],
      ['go', 'again', 'once more'],
    ])
    await runtime.stop()
  })

  it('S31: the run continues without its reader if the reader leaves', async () => {
    const { runtime, session, model } = await started()
    const run = await session.send('go', { mode: 'synchronized' })
    for await (const event of run) if (event.type === 'step-start') break
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(model.calls).toHaveLength(2)
    await runtime.stop()
  })

  it('S31: the run continues without its reader after driverTimeoutMs, by the clock of the runtime', async () => {
    const { runtime, session, model, clock } = await started()
    const run = await session.send('go', { mode: 'synchronized', driverTimeoutMs: 5_000 })
    const reader = run[Symbol.asyncIterator]()
    await readTo(reader, 'step-start')
    await clock.advance(4_999)
    expect(model.calls).toHaveLength(0)
    await clock.advance(1)
    expect(types(await collect(run.events()))).toContain('turn-end')
    expect(model.calls).toHaveLength(2)
    await runtime.stop()
  })

  it('S31: the default timeout is 30 seconds, also if no reader comes', async () => {
    const { runtime, session, clock } = await started()
    const run = await session.send('go', { mode: 'synchronized' })
    const watcher = session.events()[Symbol.asyncIterator]()
    await readTo(watcher, 'turn-start')
    await clock.advance(29_999)
    expect(types(await logOf(session)).at(-1)).toBe('turn-start')
    await clock.advance(1)
    await readTo(watcher, 'turn-end')
    expect((await run.result()).status).toBe('completed')
    await runtime.stop()
  })

  it('S31: a caller that only waits for the result does not hold the run', async () => {
    const { runtime, session } = await started()
    const run = await session.send('go', { mode: 'synchronized' })
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S31: other readers do not hold the run, whether they read or not', async () => {
    const { runtime, session, clock } = await started()
    const run = await session.send('go', { mode: 'synchronized' })
    const reader = run[Symbol.asyncIterator]()
    await readTo(reader, 'turn-start')
    for (const other of [run[Symbol.asyncIterator](), run.events()[Symbol.asyncIterator](), session.events()[Symbol.asyncIterator]()]) {
      await readTo(other, 'turn-start')
      void other.next()
      await clock.advance(1_000)
      expect(types(await logOf(session)).at(-1)).toBe('turn-start')
      await other.return?.()
    }
    expect(types(await logOf(session)).at(-1)).toBe('turn-start')
    await reader.return?.()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S31: a stop does not wait for the reader', async () => {
    const { runtime, session, model } = await started()
    const run = await session.send('go', { mode: 'synchronized' })
    const reader = run[Symbol.asyncIterator]()
    await readTo(reader, 'step-start')
    expect(await run.stop()).toMatchObject({ state: 'settled', status: 'stopped' })
    expect(model.calls).toHaveLength(0)
    await runtime.stop()
  })

  it('S31: another process that takes the run over waits for no reader', async () => {
    const store = memoryStore()
    const first = await started({ store })
    const run = await first.session.send('go', { mode: 'synchronized' })
    const reader = run[Symbol.asyncIterator]()
    await readTo(reader, 'step-start')
    const second = await started({ store })
    await first.runtime.stop()
    expect(await collect(second.session.events({ runId: run.runId })).then(types)).toContain('turn-end')
    expect(await second.runtime.run(run.runId)).toMatchObject({ status: 'completed' })
    await second.runtime.stop()
  })

  it('S31: another process that executes the accepted input waits for no reader', async () => {
    const store = memoryStore()
    const first = await started({ store, concurrency: 0 })
    const second = await started({ store })
    const run = await first.session.send('go', { mode: 'synchronized' })
    for await (const event of second.session.events({ runId: run.runId })) void event
    expect(await run.status()).toBe('completed')
    await second.runtime.stop()
    await first.runtime.stop()
  })

  it('S31: a process that resumes its own run after a restart waits for no reader', async () => {
    const { runtime, session } = await started()
    const run = await session.send('go', { mode: 'synchronized' })
    await readTo(run[Symbol.asyncIterator](), 'turn-start')
    await runtime.stop()
    await runtime.start()
    expect(types(await collect(session.events({ runId: run.runId })))).toContain('step-end')
    await runtime.stop()
  })

  it('S31: the mode and its timeout are not stored', async () => {
    const { runtime, session } = await started({ concurrency: 0 })
    const send = (mode: 'live' | 'synchronized') => session.send('go', { mode, driverTimeoutMs: 5_000 })
    const [live, synchronized] = await Promise.all([send('live'), send('synchronized')])
    const fields = async (runId: string) => {
      const read = await runtime.store.readRun(runId)
      return read.status === 'found' ? Object.keys(read.value) : []
    }
    expect(await fields(synchronized.runId)).toEqual(await fields(live.runId))
    expect(await runtime.store.readRun(synchronized.runId)).not.toMatchObject({ value: { options: expect.anything() as unknown } })
    await runtime.stop()
  })

  it('S31: a repeated or steering input holds no run', async () => {
    const script = heldScript(steps)
    const { runtime, session } = await started({ steps: script.steps })
    const run = await session.send('go', { id: 'x' })
    const again = await session.send('go', { id: 'x', mode: 'synchronized' })
    await script.reached(0)
    const steered = await session.send('left', { onBusy: 'steer', mode: 'synchronized' })
    expect([again.accepted, steered.accepted]).toEqual(['duplicate', 'steered'])
    script.answer(0)
    script.answer(1)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S31: the run also waits if the turn is stored only at its end', async () => {
    const { runtime, session, clock } = await started({ durability: 'turn' })
    const run = await session.send('go', { mode: 'synchronized' })
    const reader = run[Symbol.asyncIterator]()
    expect(await readTo(reader, 'step-start')).toMatchObject({ step: 1 })
    await clock.advance(1_000)
    expect(types(await logOf(session)).at(-1)).toBe('step-start')
    await reader.return?.()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S31: other modes and times are refused before anything is written', async () => {
    const { runtime, session } = await started()
    await expect(session.send('go', { mode: 'slow' as never })).rejects.toMatchObject({ code: 'invalid-input' })
    for (const driverTimeoutMs of [-1, 0.5, NaN]) {
      await expect(session.send('go', { mode: 'synchronized', driverTimeoutMs })).rejects.toMatchObject({ code: 'invalid-input' })
    }
    expect(await session.info()).toBeNull()
    await runtime.stop()
  })
})

describe('mode live', () => {
  it('S30: the run waits for no reader, whether the reader reads, pauses or leaves', async () => {
    const { runtime, session } = await started()
    const run = await session.send('go')
    const reader = run[Symbol.asyncIterator]()
    await readTo(reader, 'turn-start')
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await reader.return?.()
    const log = await checkLog(session)
    expect(types(log).at(-1)).toBe('settled')
    await runtime.stop()
  })
})
