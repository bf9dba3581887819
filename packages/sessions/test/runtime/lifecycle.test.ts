import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { faultyStore } from '@bowline/testing/crashes'
import { nodeFlags, program } from '../../../../scripts/programs.ts'
import { gate, setup } from '../support.ts'

const call = { toolCalls: [{ id: 'c1', name: 'deaf', input: {} }] }

/** Creates a tool that ignores its signal and never ends. */
function deafTool(onStart: () => void) {
  return defineTool({
    name: 'deaf',
    description: 'Hears no signal.',
    inputSchema: z.object({}),
    execute: () => new Promise<string>(() => onStart()),
  })
}

describe('start and stop', () => {
  it('S9: a run that does not yield within the grace is given back, and no attempt is counted', async () => {
    const clock = manualClock()
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const started = gate()
    const { runtime, faults } = setup({ steps: [call], tools: [deafTool(started.open)], store, clock, abortGraceMs: 1_000 })
    await runtime.start()
    const { runId } = await runtime.session('room:1').send('go')
    await started.passed
    const stopping = runtime.stop({ graceMs: 5 })
    await clock.advance(5)
    await stopping
    expect(await store.readRun(runId)).toMatchObject({ value: { status: 'queued', attempts: 0, totalAttempts: 0 } })
    // A later result can no longer be written, which is no fault.
    await clock.advance(1_000)
    expect(await store.readRun(runId)).toMatchObject({ value: { status: 'queued', epoch: 1 } })
    expect(faults).toEqual([])
  })

  it('S9: leases are renewed during the grace of the runs', async () => {
    const clock = manualClock()
    const store = memoryStore()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const started = gate()
    const { runtime } = setup({ steps: [call], tools: [deafTool(started.open)], store, clock, abortGraceMs: 60_000 })
    await runtime.start()
    await runtime.session('room:1').send('go')
    await started.passed
    const stopping = runtime.stop({ graceMs: 40_000 })
    await clock.advance(30_000)
    expect(await store.claim({ owner: 'other', max: 1, leaseMs: 10_000, agents: ['assistant'], holds: [] })).toEqual([])
    await clock.advance(10_000)
    await stopping
  })

  it('S9: runs that are claimed while the runtime stops are given back', async () => {
    const claiming = gate()
    const go = gate()
    const memory = memoryStore()
    await memory.open({ namespace: 'default', clock: manualClock(), owner: 'keeper' })
    let slow = false
    const waitFor = (): Promise<void> => {
      claiming.open()
      return go.passed
    }
    const store = faultyStore(memory, [{ of: 'claim', when: () => slow, fault: { waitFor } }])
    const { runtime, model, faults } = setup({ steps: [], store })
    await runtime.start()
    slow = true
    const { runId } = await runtime.session('room:1').send('go')
    await claiming.passed
    const stopping = runtime.stop()
    go.open()
    await stopping
    expect(await memory.readRun(runId)).toMatchObject({ value: { status: 'queued', attempts: 0, epoch: 1 } })
    expect(model.calls).toEqual([])
    expect(faults).toEqual([])
  })

  it('S12: a failed start leaves nothing open, and can be repeated', async () => {
    const clock = manualClock()
    let broken = true
    const memory = memoryStore()
    const store = faultyStore(memory, [{ of: 'claim', when: () => broken, fault: { error: new Error('disk on fire') } }])
    const { runtime } = setup({ steps: [{ text: 'ok' }], store, clock })
    await expect(runtime.start()).rejects.toThrow('disk on fire')
    expect(clock.pendingTimers).toBe(0)
    await expect(memory.readRun('any')).rejects.toMatchObject({ code: 'store-unavailable' })
    broken = false
    await runtime.start()
    await expect(runtime.start()).rejects.toMatchObject({ code: 'invalid-config' })
    expect(await (await runtime.session('room:1').send('go')).result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
    expect(clock.pendingTimers).toBe(0)
  })

  it('S12: after the first use failed to open the store, the next use opens it; after a stop, no use does', async () => {
    const clock = manualClock()
    let broken = true
    const memory = memoryStore()
    const store = faultyStore(memory, [{ of: 'open', when: () => broken, fault: { error: new Error('disk on fire') } }])
    const { runtime } = setup({ steps: [{ text: 'ok' }], store, clock })
    const session = runtime.session('room:1')
    const uses = await Promise.allSettled([session.send('go', { id: 'a' }), runtime.sessions()])
    expect(uses.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(clock.pendingTimers).toBe(0)
    broken = false
    expect(await (await session.send('go', { id: 'a' })).result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
    expect(clock.pendingTimers).toBe(0)
    await expect(session.send('go', { id: 'b' })).rejects.toMatchObject({ code: 'store-unavailable' })
  })

  it('S11: a runtime that is stopped twice, or was never started, does not close the store of another', async () => {
    const store = memoryStore()
    const one = setup({ steps: [], store })
    const never = setup({ steps: [], store })
    const other = setup({ steps: [{ text: 'ok' }], store })
    await one.runtime.start()
    await other.runtime.start()
    await Promise.all([one.runtime.stop(), one.runtime.stop()])
    await one.runtime.stop()
    await never.runtime.stop()
    expect(await (await other.runtime.session('room:1').send('go')).result()).toMatchObject({ status: 'completed' })
    await other.runtime.stop()
  })

  it('S12: if the error handler throws, the console shows it, and it is no fault of its own', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    let broken = false
    const store = faultyStore(memoryStore(), [{ of: 'claim', when: () => broken, fault: { error: new Error('disk on fire') } }])
    const clock = manualClock()
    const { runtime } = setup({
      steps: [{ text: 'ok' }],
      store,
      clock,
      onError: () => {
        throw new Error('the handler itself')
      },
    })
    await runtime.start()
    broken = true
    const run = await runtime.session('room:1').send('secret words')
    await clock.advance(1_000)
    expect(said).toHaveBeenCalled()
    expect(JSON.stringify(said.mock.calls)).not.toContain('secret')
    said.mockRestore()
    broken = false
    await clock.advance(3_000)
    expect(await run.result()).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it.each([
    { keepAlive: false, holds: [] },
    { keepAlive: true, holds: ['Timeout'] },
  ])('S10: with keepAlive $keepAlive an idle runtime holds its process by $holds', async ({ keepAlive, holds }) => {
    const child = spawn(process.execPath, [...nodeFlags, program('sessions/test/fixtures/idle'), String(keepAlive)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    const { value: line } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
    expect(JSON.parse(String(line))).toEqual(holds)
    if (keepAlive) child.kill()
    expect(await exited).toBe(keepAlive ? null : 0)
  })
})
