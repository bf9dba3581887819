import { manualClock } from '@bowline/llm/testing'
import type { SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it } from 'vitest'
import type { Batch } from '../../src/contract/batch.ts'
import { aroundStore } from '../../../testing/src/around-store.ts'
import { checkLog, collect, gate, setup } from '../support.ts'

it('S115, S22: if two processes find an input that an ended run did not take, it becomes one run, and readers see what is stored', async () => {
  const clock = manualClock()
  const memory = memoryStore()
  await memory.open({ namespace: 'default', clock, owner: 'keeper' })
  // Another process is a moment faster, and its run starts at once.
  const store: SessionStore = aroundStore(memory, async (operation, args, go) => {
    const batch = args[0] as Batch
    if (operation !== 'commit' || !batch.writes.some(({ op }) => op === 'inbox.take')) return go()
    await memory.commit({ ...batch, id: 'elsewhere' })
    await memory.commit({
      id: 'and more',
      key: 'room:1',
      expect: [],
      writes: [{ op: 'event.append', events: [{ event: { type: 'error', at: 1, error: { code: 'x', message: 'x' } } as never }] }],
    })
    return go()
  })
  const [began, held] = [gate(), gate()]
  const { runtime } = setup({
    store,
    clock,
    steps: async (call, index) => (
      index === 0 &&
        (began.open(),
        await Promise.race([
          held.passed,
          new Promise((_resolve, reject) => call.abortSignal?.addEventListener('abort', () => reject(new Error('stopped')))),
        ])),
      { text: 'done' }
    ),
  })
  await runtime.start()
  const session = runtime.session('room:1')
  await session.send('go')
  const reader = new AbortController()
  const seen = collect(session.events({ abortSignal: reader.signal }))
  await began.passed
  await session.steer('and this')
  await session.stop({ waitMs: 0 })
  for (let turn = 0; turn < 30; turn++) await clock.advance(100)
  const log = await checkLog(session)
  reader.abort()
  expect((await seen).filter((event) => 'seq' in event).map(({ cursor, type }) => `${cursor} ${type}`)).toEqual(
    log.map(({ cursor, type }) => `${cursor} ${type}`),
  )
  expect(log.filter(({ type }) => type === 'run-queued')).toHaveLength(2)
  await runtime.stop()
})
