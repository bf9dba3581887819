import { expect, it } from 'vitest'
import { gate } from '../support.ts'
import { worker } from './worker.ts'

it('S64, S186: a run that ends while a claim of a named session is under way causes no claim of all sessions', async () => {
  const [done, asked, hold] = [gate(), gate(), gate()]
  const { runtime, clock, claims, answered, send, statuses } = await worker({ steps: async (_call, index) => (index === 0 && (await done.passed), { text: 'done' }) })
  await runtime.start()
  const first = await send(1)
  claims.length = 0
  answered.claim = () => (asked.open(), hold.passed)
  const second = await send(2)
  await asked.passed
  done.open()
  await first.result()
  await clock.advance(0)
  hold.open()
  await second.result()
  expect(await statuses([first, second])).toEqual(['completed', 'completed'])
  expect(claims.map(({ keys, others }) => ({ keys, others }))).toEqual([{ keys: ['room:2'], others: undefined }])
  await runtime.stop()
})

it('S64: a slot that becomes free during a claim that fills its request is used at once', async () => {
  const [done, asked, hold] = [gate(), gate(), gate()]
  const { runtime, clock, memory, answered, send, left } = await worker({
    ...{ deaf: true, concurrency: 2 },
    steps: async (_call, index) => (index === 0 && (await done.passed), index === 1 ? new Promise(() => undefined) : { text: 'done' }),
  })
  await runtime.start()
  const first = await send(1)
  await clock.advance(1_000)
  await left(2)
  await left(3)
  answered.claim = () => (asked.open(), hold.passed)
  // The poll each second finds one free slot and two runs.
  const looking = clock.advance(1_000)
  await asked.passed
  done.open()
  await first.result()
  hold.open()
  await looking
  for (let turn = 0; turn < 20; turn++) await clock.advance(0)
  expect(await memory.readRun('left-3')).toMatchObject({ value: { status: 'completed' } })
  await runtime.stop({ graceMs: 0 })
})
