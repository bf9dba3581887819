import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { defineExtension } from '../../src/index.ts'
import type { AgentEvent, AgentOptions, RunOptions } from '../../src/index.ts'
import { agentOf, conversation, readAll } from '../support/conversation.ts'
import { echo, remote, until } from '../support/tools.ts'
import { refusal } from '../support/waiting.ts'

const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Waits long enough for everything to happen that can happen. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await idle()
}

const toolSteps = [{ toolCalls: [{ name: 'a', input: {} }] }, { text: 'done' }]

function synchronized(steps: Parameters<typeof agentOf>[0], options: RunOptions = {}, agentOptions: Partial<AgentOptions> = {}) {
  const talk = conversation()
  const agent = agentOf(steps, agentOptions)
  const run = talk.run(agent, 'hi', { mode: 'synchronized', ...options })
  return { talk, agent, run, calls: () => agent.model.calls.length }
}

/** Reads until the driver got an event of this type. */
async function driveTo(driver: AsyncIterator<AgentEvent>, type: AgentEvent['type']): Promise<void> {
  for (;;) {
    const { done, value } = await driver.next()
    if (done) throw new Error(`the run ended before ${type}`)
    if (value.type === type) return
  }
}

describe('a synchronized run', () => {
  it('A20: the model is not called until the driver asks for the event after step-start', async () => {
    const { run, calls } = synchronized([{ text: 'x' }])
    const driver = run[Symbol.asyncIterator]()
    await driveTo(driver, 'step-start')
    await rest()
    expect(calls()).toBe(0)
    expect((await driver.next()).value).toMatchObject({ type: 'message-start' })
    await until(() => calls() === 1)
    await driveTo(driver, 'settled')
    expect((await driver.next()).done).toBe(true)
  })

  it('A20: it waits at turn-start, also when there is no driver yet', async () => {
    const { run, talk, calls } = synchronized([{ text: 'x' }])
    await rest()
    expect(talk.types()).toEqual(['user-message', 'turn-start'])
    const driver = run[Symbol.asyncIterator]()
    await driveTo(driver, 'turn-start')
    await rest()
    expect([talk.types().at(-1), calls()]).toEqual(['turn-start', 0])
    await driveTo(driver, 'step-start')
    await driver.return?.()
    await run.result()
  })

  it('A21: neither the next step nor the end comes before the driver asks for the event after step-end', async () => {
    const { run, talk } = synchronized(toolSteps, {}, { tools: [echo('a').tool] })
    const driver = run[Symbol.asyncIterator]()
    await driveTo(driver, 'step-end')
    await rest()
    expect(talk.types().at(-1)).toBe('step-end')
    expect((await driver.next()).value).toMatchObject({ type: 'step-start', step: 2 })
    await driveTo(driver, 'step-end')
    await rest()
    expect(talk.types().at(-1)).toBe('step-end')
    expect((await driver.next()).value).toMatchObject({ type: 'turn-end', status: 'completed' })
    await driveTo(driver, 'settled')
    await run.result()
  })

  it('A21: the run also waits at the end of a step without an answer', async () => {
    const { run, talk } = synchronized([{ error: refusal(503) }], { onFailedTurn: 'rewind' })
    const driver = run[Symbol.asyncIterator]()
    await driveTo(driver, 'step-end')
    await rest()
    expect(talk.types().at(-1)).toBe('step-end')
    expect((await talk.memory.load()).open?.ending).toMatchObject({ status: 'error', reason: 'model-error' })
    await driveTo(driver, 'settled')
    await run.result()
  })

  it('A21: a turn that handled its input, or is replaced by another one, waits where each turn does', async () => {
    const filter = defineExtension({ name: 'filter', hooks: { onInput: () => ({ action: 'handled' }) } })
    const handled = synchronized([], {}, { extensions: [filter] })
    const driver = handled.run[Symbol.asyncIterator]()
    await driveTo(driver, 'turn-start')
    await rest()
    expect(handled.talk.types().at(-1)).toBe('turn-start')
    await driveTo(driver, 'settled')

    const talk = conversation()
    const agent = agentOf([{ toolCalls: [{ name: 'far', input: {} }] }, { text: 'x' }], { tools: [remote('far')] })
    await talk.play(agent, 'hi')
    const next = talk.run(agent, 'rather this', { mode: 'synchronized', onInputWhilePending: 'cancel' })[Symbol.asyncIterator]()
    for (const type of ['turn-start', 'step-end'] as const) {
      await driveTo(next, type)
      await rest()
      expect(talk.types().at(-1)).toBe(type)
    }
    await driveTo(next, 'settled')
  })

  it('A20, A21: a driver that reads on sees what a live reader sees', async () => {
    const one = synchronized(toolSteps, {}, { tools: [echo('a').tool] })
    const [driven, beside] = await Promise.all([readAll(one.run), readAll(one.run.events())])
    const live = conversation()
    const { events } = await live.play(agentOf(toolSteps, { tools: [echo('a').tool] }), 'hi')
    expect(driven).toEqual(beside)
    expect(driven).toEqual(events)
  })

  it('A92: an input steered while the run waits at step-start is in that very call', async () => {
    const { run, agent } = synchronized([{ text: 'x' }])
    for await (const event of run) if (event.type === 'step-start') await run.steer('and this')
    expect(JSON.stringify(agent.model.calls[0]?.prompt)).toContain('and this')
  })

  it('A22: a second driver throws busy, and events() still works', async () => {
    const { run } = synchronized([{ text: 'x' }])
    const driven = readAll(run)
    expect(() => run[Symbol.asyncIterator]()).toThrow(expect.objectContaining({ code: 'busy' }) as Error)
    expect(await readAll(run.events())).toEqual(await driven)
    expect((await run.result()).status).toBe('completed')
  })

  it('A23: breaking out of the driver loop lets the run go on live', async () => {
    const { run } = synchronized(toolSteps, {}, { tools: [echo('a').tool] })
    for await (const event of run) if (event.type === 'step-start') break
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect((await readAll(run)).at(-1)?.type).toBe('settled')
  })

  it('A23: breaking out stops the run with onBreak: abort, also by a throw in the loop', async () => {
    const { run, calls } = synchronized([], { onBreak: 'abort' })
    const driven = (async () => {
      for await (const event of run) if (event.type === 'step-start') throw new Error('enough')
    })()
    await expect(driven).rejects.toThrow('enough')
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect(calls()).toBe(0)
  })

  it('A23: a driver that has read to the end aborts nothing', async () => {
    const { run } = synchronized([{ text: 'x' }], { onBreak: 'abort' })
    await readAll(run)
    expect((await run.result()).status).toBe('completed')
  })

  it('A24: result() without a driver makes it live', async () => {
    const { run } = synchronized(toolSteps, {}, { tools: [echo('a').tool] })
    await rest()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
  })

  it.each(['turn-start', 'step-start', 'step-end'] as const)('A25: abort() frees it at %s', async (boundary) => {
    const steps = boundary === 'step-end' ? toolSteps.slice(0, 1) : []
    const { run, talk } = synchronized(steps, {}, { tools: [echo('a').tool] })
    const driver = run[Symbol.asyncIterator]()
    await driveTo(driver, boundary)
    await rest()
    run.abort()
    await until(() => talk.types().at(-1) === 'settled')
    expect(await run.result()).toMatchObject({ status: 'aborted' })
  })

  it('A25: abort() frees it when no reader consumes', async () => {
    const { run, talk } = synchronized([])
    await rest()
    run.abort()
    await until(() => talk.types().at(-1) === 'settled')
    expect(await run.result()).toMatchObject({ status: 'aborted' })
  })

  it('A25: a signal frees it as abort() does', async () => {
    const controller = new AbortController()
    const { run, talk } = synchronized([], { abortSignal: controller.signal })
    await rest()
    controller.abort()
    await until(() => talk.types().at(-1) === 'settled')
    expect(await run.result()).toMatchObject({ status: 'aborted' })
  })

  it('becomes live when its driver does not come in time', async () => {
    const { run, talk } = synchronized([{ text: 'x' }], { driverTimeoutMs: 500 })
    await rest()
    await talk.clock.advance(499)
    expect(talk.types().at(-1)).toBe('turn-start')
    await talk.clock.advance(1)
    await until(() => talk.types().at(-1) === 'settled')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'x' })
  })

  it('A112: leaves no listener and no timer', async () => {
    const controller = new AbortController()
    const { run, talk } = synchronized([{ text: 'x' }], { driverTimeoutMs: 500, abortSignal: controller.signal })
    await readAll(run)
    await run.result()
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect(talk.clock.pendingTimers).toBe(0)
  })
})
