import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import type { RunHandle } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { aroundStore, type StoreOperation } from '../../../testing/src/around-store.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { collect, gate, setup } from '../support.ts'

const placeOf = placesOfStores()
const reads: readonly StoreOperation[] = ['readRun', 'readEvents', 'readSession', 'listRuns', 'listChildren']
const places = [...namesOfPlaces, 'elsewhere'] as const

/** Counts the reads of a runtime while many runs of one session are executed: by itself, or elsewhere. */
async function readsDuring(place: (typeof places)[number], count: number, wait: (run: RunHandle) => Promise<unknown>): Promise<number> {
  const isElsewhere = place === 'elsewhere'
  const store = isElsewhere ? memoryStore() : placeOf(place)[0]
  let counted = 0
  const counting = aroundStore(store, (operation, _args, go) => {
    if (reads.includes(operation)) counted++
    return go()
  })
  const held = gate()
  // No poll is due while the runs are executed.
  const options = { steps: () => held.passed.then(() => ({ text: 'done' })), clock: manualClock() }
  const here = setup({ ...options, store: counting, ...(isElsewhere && { concurrency: 0 }) }).runtime
  const there = setup({ ...options, store }).runtime
  await here.start()
  if (isElsewhere) await there.start()
  const runs: RunHandle[] = []
  for (let index = 0; index < count; index++) runs.push(await here.session('room:1').send('go'))
  const waits = runs.map(wait)
  counted = 0
  held.open()
  expect(await runs.at(-1)?.result()).toMatchObject({ status: 'completed' })
  await Promise.all(waits)
  await here.stop()
  await there.stop()
  return counted
}

const ways: readonly [name: string, perRun: number, wait: (run: RunHandle) => Promise<unknown>][] = [
  ['result', 2, (run) => run.result()],
  ['events', 8, (run) => collect(run.events())],
]

it.each(places.flatMap((place) => ways.map((way) => [place, ...way] as const)))(
  'S182: the reads for each of many runs that are waited for do not grow with their number: %s, %s',
  async (place, _way, perRun, wait) => {
    const count = 25
    const alone = await readsDuring(place, count, async () => undefined)
    expect((await readsDuring(place, count, wait)) - alone).toBeLessThanOrEqual(count * perRun)
  },
)

it('S182: finds a run that another process has ended out of order with the next poll, in one read', async () => {
  const store = memoryStore()
  const clock = manualClock()
  const read: StoreOperation[] = []
  const counting = aroundStore(store, (operation, _args, go) => {
    read.push(operation)
    return go()
  })
  const here = setup({ steps: [], store: counting, clock, concurrency: 0 }).runtime
  const there = setup({ steps: [], store, clock, concurrency: 0 }).runtime
  await Promise.all([here.start(), there.start()])
  const runs: RunHandle[] = []
  for (let index = 0; index < 5; index++) runs.push(await here.session('room:1').send('go'))
  const results = runs.map((run) => run.result())
  await there.session('room:1').stop({ runId: runs[3]?.runId ?? '' })
  read.length = 0
  await clock.advance(1_000)
  expect(await results[3]).toMatchObject({ status: 'aborted' })
  expect(read.filter((operation) => operation === 'listRuns')).toHaveLength(1)
  await there.session('room:1').stop({ scope: 'all' })
  await clock.advance(1_000)
  expect(await Promise.all(results)).toHaveLength(5)
  await Promise.all([here.stop(), there.stop()])
})

it('a run that waits behind a decision says so: its handle, its result after a time, and one warning of the process', async () => {
  const warnings: string[] = []
  const note = (warning: Error): void => {
    if (warning.name === 'BowlineWarning') warnings.push(warning.message)
  }
  process.on('warning', note)
  onTestFinished(() => void process.off('warning', note))
  const pay = defineTool({ name: 'pay', description: 'Pays.', inputSchema: z.object({}), needsApproval: true, execute: () => 'paid' })
  const clock = manualClock()
  const { runtime } = setup({
    steps: [{ toolCalls: [{ name: 'pay', input: {} }] }, { text: 'paid' }, { text: 'second' }, { text: 'third' }],
    tools: [pay],
    clock,
  })
  const session = runtime.session('room:1')
  const first = await session.send('pay')
  const {
    pendingApprovals: [approval],
  } = await first.result()
  const second = await session.send('and then')
  const third = await session.send('and then')
  expect(await first.behind()).toBeNull()
  for (const run of [second, third])
    expect(await run.behind()).toMatchObject({ runId: first.runId, status: 'waiting-for-user', pendingApprovals: [approval] })
  const results = [second.result(), third.result({ waitMs: 10_000 })]
  await clock.advance(9_999)
  const late = second.result({ waitMs: 0 })
  expect(await late).toMatchObject({ runId: second.runId, status: 'queued', messages: [], text: '' })
  await clock.advance(1)
  expect(await results[1]).toMatchObject({ runId: third.runId, status: 'queued' })
  await new Promise(setImmediate)
  expect(warnings).toEqual([
    `The run ${second.runId} of the session room:1 waits behind the run ${first.runId}. It goes on when 1 approval and 0 answers are given. See behind(). This warning comes once.`,
  ])
  await session.approve(approval?.approvalId ?? '')
  expect(await results[0]).toMatchObject({ status: 'completed', text: 'second' })
  expect(await third.result({ waitMs: 10_000 })).toMatchObject({ status: 'completed', text: 'third' })
  expect(await second.behind()).toBeNull()
  await runtime.stop()
})
