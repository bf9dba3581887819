import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { expect, it } from 'vitest'
import { found } from '../children/support.ts'
import { gate, type SetupOptions } from '../support.ts'
import { worker } from './worker.ts'

it('S64, S186: a run that ends while a claim of a named session is under way causes no claim of all sessions', async () => {
  const [done, asked, hold] = [gate(), gate(), gate()]
  const { runtime, clock, claims, answered, send, statuses } = await worker({
    steps: async (_call, index) => (index === 0 && (await done.passed), { text: 'done' }),
  })
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
    deaf: true,
    concurrency: 2,
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

it('S133: a run that waits for another run releases its slot, only that one, and only as long as it waits', async () => {
  const [worked, moved] = [gate(), gate()]
  const scout = defineAgent({
    name: 'scout',
    description: 'Scouts.',
    model: scriptedModel(async () => (await worked.passed, { text: 'found' })),
  })
  const task = async (): Promise<string> => (await memory.listChildren({ parent: { session: 'room:1' } })).items[0]?.parent?.taskId ?? ''
  const steps: SetupOptions['steps'] = async (_call, index) => {
    if (index === 0) return { toolCalls: [{ id: 'd', name: 'delegate_to_scout', input: { prompt: 'look', run_in_background: true } }] }
    if (index === 1) return { toolCalls: [{ id: 'o', name: 'background_output', input: { task_id: await task(), block: true } }] }
    return (await moved.passed, { text: 'seen' })
  }
  const { runtime, clock, memory, send, statuses, claims } = await worker({ concurrency: 1, steps, agent: { subagents: [scout] } })
  await runtime.start()
  const asking = await send(1)
  const children = async () => (await memory.listChildren({ parent: { session: 'room:1' } })).items.map(({ status }) => status)
  const isChild = (status: string) => found(memory, async () => ((await children())[0] === status ? true : undefined))
  const passes = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await clock.advance(0)
  }
  await isChild('running')
  const others = [await send(2), await send(3)]
  await passes()
  expect([await children(), await statuses([asking, ...others])]).toEqual([['running'], ['running', 'queued', 'queued']])
  worked.open()
  await isChild('completed')
  await passes()
  // The waiting run has its slot again, so the others have to wait.
  expect([await children(), await statuses([asking, ...others])]).toEqual([['completed'], ['running', 'queued', 'queued']])
  expect(Math.max(...claims.map(({ max }) => max))).toBe(1)
  moved.open()
  for (const run of [asking, ...others]) expect(await run.result()).toMatchObject({ status: 'completed' })
  await runtime.stop()
})
