import { defineTool } from '@bowline/agent-loop'
import { manualClock, type ManualClock } from '@bowline/llm/testing'
import { SessionError, type RunHandle, type Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { type Fault, faultyStore } from '@bowline/testing/crashes'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { checkLog, setup } from '../support.ts'

/** Starts a run that waits for the answer of a remote tool. From `breakFor` on, each store call meets the fault. */
async function waitingRun(fault: Fault) {
  const clock = manualClock()
  let awayUntil = 0
  const ask = defineTool({ name: 'ask', description: 'Answered from outside.', inputSchema: z.object({}) })
  const store = faultyStore(memoryStore(), [
    { of: 'any', when: (operation) => operation !== 'claim' && operation !== 'renew' && clock.now() < awayUntil, fault },
  ])
  const { runtime, model } = setup({
    steps: [{ toolCalls: [{ id: 'c1', name: 'ask', input: {} }] }, { text: 'done' }, { text: 'again' }],
    tools: [ask],
    store,
    clock,
  })
  await runtime.start()
  const session = runtime.session('room:1')
  const run = await session.send('go')
  await run.result()
  return { clock, model, run, runtime, session, breakFor: (ms: number) => (awayUntil = clock.now() + ms) }
}

/** Lets time pass until the work is done. */
async function overTime<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
  let isDone = false
  const end = (): void => void (isDone = true)
  void work.then(end, end)
  while (!isDone) await clock.advance(25)
  return work
}

type Command = (session: Session, run: RunHandle) => Promise<unknown>

const commands: Readonly<Record<string, { readonly call: Command; readonly status: string }>> = {
  send: { call: (session) => session.send('more'), status: 'waiting-for-user' },
  submitToolResults: { call: (session) => session.submitToolResults([{ toolCallId: 'c1', output: 'yes' }]), status: 'completed' },
  stop: { call: (session) => session.stop({ waitMs: 0 }), status: 'stopped' },
  kill: { call: (session) => session.kill(), status: 'stopped' },
  info: { call: (session) => session.info(), status: 'waiting-for-user' },
}

describe('S35: a command while the store does not answer', () => {
  it.each(
    Object.entries(commands).flatMap(([name, command]) => [
      { name, ...command, fault: 'unavailable' as const },
      { name, ...command, fault: 'answer-lost' as const },
    ]),
  )('S35: $name ($fault) waits for two seconds, and acts once', async ({ call, status, fault }) => {
    const { clock, run, runtime, session, breakFor } = await waitingRun(fault)
    breakFor(2_000)
    await overTime(clock, call(session, run))
    expect(clock.now()).toBeGreaterThanOrEqual(2_000)
    if (status !== 'waiting-for-user') await overTime(clock, run.result())
    expect(await run.status()).toBe(status)
    await checkLog(runtime.session('room:1'))
    await runtime.stop()
  })

  it('S35: an input whose answer is lost for a while is one run', async () => {
    const { clock, runtime, session, breakFor } = await waitingRun('answer-lost')
    breakFor(2_000)
    await overTime(clock, session.send('more'))
    expect((await session.runs()).items).toHaveLength(2)
    await runtime.stop()
  })

  it('S35: fails after five seconds, so that the caller can decide', async () => {
    const { clock, runtime, session, breakFor } = await waitingRun('unavailable')
    breakFor(60_000)
    await expect(overTime(clock, session.send('more'))).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(clock.now()).toBeGreaterThan(4_500)
    expect(clock.now()).toBeLessThanOrEqual(5_000)
    await runtime.stop()
  })

  it('S35: fails at once if only a person can mend the store', async () => {
    const { runtime, session, breakFor } = await waitingRun({ error: new SessionError('store-full', 'no room') })
    breakFor(60_000)
    await expect(session.send('more')).rejects.toMatchObject({ code: 'store-full' })
    await runtime.stop()
  })

  it('S12: waits no longer than the runtime lives', async () => {
    const { clock, runtime, session, breakFor } = await waitingRun('unavailable')
    breakFor(60_000)
    const sent = expect(session.send('more')).rejects.toMatchObject({ code: 'store-unavailable' })
    await clock.advance(100)
    await overTime(clock, runtime.stop({ graceMs: 0 }))
    await sent
    expect(clock.pendingTimers).toBe(0)
  })
})
