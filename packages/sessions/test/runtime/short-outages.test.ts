import { defineTool } from '@bowline/agent-loop'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import { SessionError, type SessionErrorCode, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { type FaultPlan, faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventTypes } from '../recording-store.ts'
import { placesOfStores } from '../stores/places.ts'
import { checkLog, setup } from '../support.ts'

const moments = ['at the start', 'in the model', 'in the tool'] as const
const codes: readonly SessionErrorCode[] = ['store-unavailable', 'store-full', 'store-locked', 'store-corrupt', 'schema-too-new']

interface Outage {
  readonly begins: (typeof moments)[number]
  readonly ms: number
  readonly faults: (isAway: () => boolean) => FaultPlan
  readonly place?: SessionStore
}

/**
 * Runs a turn of two model calls with a `once` tool between them. After the given moment, the first call that a fault concerns
 * begins the outage.
 */
async function turnOver({ begins, ms, faults, place = memoryStore() }: Outage) {
  const clock = manualClock()
  let isDue = begins === 'at the start'
  let awayUntil: number | undefined
  const isAway = (): boolean => isDue && clock.now() < (awayUntil ??= clock.now() + ms)
  let paid = 0
  const pay = defineTool({
    name: 'pay',
    description: 'Pays once.',
    inputSchema: z.object({}),
    effect: 'once' as const,
    execute() {
      isDue ||= begins === 'in the tool'
      return `paid ${++paid}`
    },
  })
  const {
    runtime,
    model,
    faults: told,
  } = setup({
    steps: (_call, index) => {
      isDue ||= begins === 'in the model'
      return index === 0 ? { toolCalls: [{ id: 'c1', name: 'pay', input: {} }] } : { text: 'done' }
    },
    tools: [pay],
    store: faultyStore(place, faults(isAway)),
    clock,
    onUnknownOutcome: 'stop',
  })
  await runtime.start()
  const session = runtime.session('room:1')
  const run = await session.send('a')
  return { clock, model, paid: () => paid, place, run, runtime, session, told }
}

/** Lets time pass in small steps, because work between timers takes no time. */
async function until(clock: ManualClock, isReached: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isReached())) await clock.advance(20)
}

/** Expects that no person was asked, nothing was paid twice, and the run was lost this often. */
async function expectDone(
  { clock, model, paid, place, run, runtime, session }: Awaited<ReturnType<typeof turnOver>>,
  losses: number,
): Promise<void> {
  await until(clock, async () => {
    const read = await place.readRun(run.runId)
    return read.status === 'found' && read.value.status !== 'running' && read.value.status !== 'queued'
  })
  expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
  expect([model.calls.length, paid()]).toEqual([2, 1])
  expect(await place.readRun(run.runId)).toMatchObject({ value: { epoch: 1 + losses, totalAttempts: losses } })
  await checkLog(session)
  await runtime.stop()
}

const failing = (code: SessionErrorCode) => ({ error: new SessionError(code, 'The store fails.') })

const places = placesOfStores()

describe('a store that fails while the process lives on', () => {
  it.each(codes.flatMap((code) => moments.map((begins) => ({ code, begins }))))(
    'S61: $code for 150 ms, $begins: the run keeps what it knows and goes on',
    async ({ code, begins }) => {
      const commits = (isAway: () => boolean): FaultPlan => [
        { of: 'commit', when: (batch) => !eventTypes(batch).includes('run-queued') && isAway(), fault: failing(code) },
      ]
      const turn = await turnOver({ begins, ms: 150, faults: commits })
      await expectDone(turn, 0)
      expect(turn.told).toMatchObject([{ code }])
    },
  )

  it.each(moments.slice(1))('S61: a store that answers no call for 8 s, %s, is waited for under the lease', async (begins) => {
    const turn = await turnOver({ begins, ms: 8_000, faults: (isAway) => [{ of: 'any', when: isAway, fault: 'unavailable' }] })
    await expectDone(turn, 0)
  })

  it('S61: a read that fails for a moment after a tool leaves no outcome unknown', async () => {
    const turn = await turnOver({
      begins: 'in the tool',
      ms: 1_000,
      faults: (isAway) => [{ of: 'readInbox', when: isAway, fault: 'unavailable' }],
    })
    await expectDone(turn, 0)
  })

  it.each(['commit', 'readInbox'] as const)(
    'S61: an outcome that was known when the store went away for a minute is stored afterwards, if no process has taken the run (%s)',
    async (of) => {
      // On a store of one process no other can.
      const [place] = places('sqlite')
      const faults = (isAway: () => boolean): FaultPlan => [
        { of, when: isAway, fault: failing('store-full') },
        { of: 'renew', when: isAway, fault: failing('store-full') },
      ]
      const turn = await turnOver({ begins: 'in the tool', ms: 60_000, place, faults })
      await expectDone(turn, 1)
    },
  )

  it('S203: while a store is full, a run asks it once in a second', async () => {
    let asked = 0
    const turn = await turnOver({
      begins: 'in the tool',
      ms: 60_000,
      faults: (isAway) => [{ of: 'commit', when: () => isAway() && ++asked > 0, fault: failing('store-full') }],
    })
    await expectDone(turn, 0)
    expect(asked).toBeGreaterThan(50)
    expect(asked).toBeLessThan(75)
  })

  it('S61: a runtime that is stopped waits for a failing store for its grace period only', async () => {
    const turn = await turnOver({
      begins: 'in the tool',
      ms: Infinity,
      faults: (isAway) => [{ of: 'any', when: isAway, fault: 'unavailable' }],
    })
    await until(turn.clock, () => turn.told.length > 0)
    let isStopped = false
    const stopping = turn.runtime.stop({ graceMs: 5_000 }).finally(() => (isStopped = true))
    await turn.clock.advance(4_900)
    expect(isStopped).toBe(false)
    await until(turn.clock, () => isStopped)
    await stopping
    expect(turn.clock.pendingTimers).toBe(0)
  })

  it('S61: a run that was killed does not wait for the store any more', async () => {
    const ofRun = (isAway: () => boolean): FaultPlan => [
      { of: 'commit', when: ({ expect }) => expect.some(({ that }) => that === 'fence') && isAway(), fault: 'unavailable' },
    ]
    const turn = await turnOver({ begins: 'in the tool', ms: Infinity, faults: ofRun })
    await until(turn.clock, () => turn.told.length > 0)
    await turn.session.kill()
    expect(await turn.run.status()).toBe('stopped')
    await turn.runtime.stop()
    expect(turn.clock.pendingTimers).toBe(0)
  })
})
