import { defineTool } from '@bowline/agent-loop'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import { SessionError, type RunHandle, type SessionErrorCode, type SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { faultyStore, type FaultPlan } from '@bowline/sessions/testing'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { eventTypes } from '../recording-store.ts'
import { checkLog, setup } from '../support.ts'

const passing: readonly SessionErrorCode[] = ['store-unavailable', 'store-full', 'store-locked', 'store-corrupt', 'schema-too-new']

/** Runs a turn of two model calls with a `once` tool between them. From `begins` on, the store fails for `ms`. */
async function turnOver(faults: (isAway: () => boolean) => FaultPlan, begins: 'at the start' | 'in the model' | 'in the tool', ms: number) {
  const clock = manualClock()
  let awayUntil = begins === 'at the start' ? ms : -1
  const paid: number[] = []
  const begin = (): void => void (awayUntil = awayUntil < 0 ? clock.now() + ms : awayUntil)
  const pay = defineTool({
    ...{ name: 'pay', description: 'Pays once.', inputSchema: z.object({}), effect: 'once' as const },
    execute() {
      paid.push(clock.now())
      if (begins === 'in the tool') begin()
      return 'paid'
    },
  })
  const memory = memoryStore()
  const store = faultyStore(memory, faults(() => clock.now() < awayUntil))
  const { runtime, model, faults: told } = setup({
    steps: (_call, index) => {
      if (begins === 'in the model') begin()
      return index === 0 ? { toolCalls: [{ id: 'c1', name: 'pay', input: {} }] } : { text: 'done' }
    },
    ...{ tools: [pay], store, clock, onUnknownOutcome: 'stop' },
  })
  await runtime.start()
  const session = runtime.session('room:1')
  return { clock, memory, model, paid, run: await session.send('a'), runtime, session, told }
}

type Turn = Awaited<ReturnType<typeof turnOver>>

/** Advances in small steps: work between timers takes no time. */
async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 20) await clock.advance(20)
}

/** Expects that nobody was asked, nothing was paid twice, and the run was never lost. */
async function expectUnhurt({ memory, model, paid, run, runtime, session }: Turn): Promise<void> {
  expect(await run.status()).toBe('completed')
  expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
  expect([model.calls.length, paid.length]).toEqual([2, 1])
  expect(await memory.readRun(run.runId)).toMatchObject({ value: { epoch: 1, totalAttempts: 0 } })
  await checkLog(session)
  await runtime.stop()
}

describe('S61: a store that fails for a moment', () => {
  it.each(passing.flatMap((code) => (['at the start', 'in the model', 'in the tool'] as const).map((begins) => ({ code, begins }))))(
    'S61: $code for 150 ms, $begins: the run keeps what it knows, stores it later, and goes on',
    async ({ code, begins }) => {
      const turn = await turnOver((isAway) => [{ of: 'commit', when: (batch) => isAway() && !eventTypes(batch).includes('run-queued'), fault: { error: new SessionError(code, 'away') } }], begins, 150)
      await pass(turn.clock, 1_000)
      await expectUnhurt(turn)
    },
  )
})
