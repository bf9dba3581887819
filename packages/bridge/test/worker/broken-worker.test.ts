import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { workerExecutor } from '../../src/index.ts'
import type { WorkerOptions } from '../../src/index.ts'
import type { NoticeBody } from '../../src/notices.ts'
import { failureOf as failureOfResult, startBridgeOf } from '../support.ts'
import {
  ask,
  atEnd,
  brokenWorker,
  eventually,
  failureOf,
  foreignWorker,
  isRunning,
  openSession,
  servedWorker,
  sessionOf,
  startWorkers,
  toldFile,
} from './support.ts'

describe('a worker that breaks the protocol', () => {
  it.each([
    ['garbage', 'sent a line that is not JSON'],
    ['long', `sent a line of over ${4 * 1024 * 1024} bytes`],
    ['frame', 'sent JSON that is not a message'],
    ['batch', 'sent JSON that is not a message'],
    ['stranger', 'sent JSON that is not a message'],
  ])('B85: %s is a broken frame: the worker is ended, and its last output is in the log, redacted', async (fault, reason) => {
    const { executor, logger, becomes } = await startWorkers([brokenWorker(fault, { restart: { backoffMs: 1 } })])
    const session = await openSession(executor, 'broken')
    const error = await failureOf(ask(executor, session, 'go'))
    expect(error).toMatchObject({ code: 'TRANSPORT', message: `Worker broken was lost: ${reason}`, details: { outcome: 'unknown' } })
    await becomes('ready', 2)
    const line = logger.lines.find(({ message }) => message === 'worker lost')
    expect(line?.fields).toMatchObject({ workerId: 'broken', generation: 1, reason })
    expect(line?.fields['stderr']).toContain(`fault: ${fault}`)
    expect(line?.fields['stderr']).not.toMatch(/abcdefghijkl|secret\.txt/)
  })

  it.each([
    ['leave', 'exited with 3'],
    ['hang', 'exited with 0'],
  ])('B81: %s: the worker is lost, and the reason is reported', async (fault, reason) => {
    // With a clock that stands still, no signal ends a process that needs time to exit.
    const clock = manualClock()
    const { executor, becomes } = await startWorkers([brokenWorker(fault, { restart: { backoffMs: 1 } })], { clock })
    const session = await openSession(executor, 'broken')
    expect(await failureOf(ask(executor, session, 'go'))).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown' } })
    expect(await becomes('waiting')).toMatchObject({ reason })
    await clock.advance(1)
    await becomes('ready', 2)
  })

  it('B81: B83: killed while it starts it is restarted, and waiting callers get an error when a restart is of no use', async () => {
    const { executor, notices } = await startWorkers([brokenWorker('initialize', { restart: { maxRestarts: 2, backoffMs: 1 } })])
    const error = await failureOf(executor.open(sessionOf('broken'), 'create'))
    expect(error).toMatchObject({ code: 'TRANSPORT', retryable: true, details: { outcome: 'none' } })
    expect(error.message).toBe('Worker broken is not running: ended by SIGKILL')
    const states = notices.flatMap((notice) => (notice.type === 'worker-changed' ? [notice.to] : []))
    expect(states).toEqual(['starting', 'waiting', 'starting', 'waiting', 'starting', 'unavailable'])
  })

  it('B81: killed while it opens a session, there is no session', async () => {
    const { executor, becomes, failed } = await startWorkers([brokenWorker('session/new', { restart: { backoffMs: 1 } })])
    const error = await failureOf(executor.open(sessionOf('broken'), 'create'))
    expect(error).toMatchObject({ code: 'TRANSPORT', retryable: true, details: { outcome: 'none' } })
    await becomes('ready', 2)
    expect(failed).toEqual([])
    expect(await failureOf(ask(executor, sessionOf('broken'), 'go'))).toMatchObject({ code: 'NOT_FOUND' })
  })

  it('B20: killed while it closes a session, the session counts as closed', async () => {
    const { executor, becomes, failed } = await startWorkers([brokenWorker('session/close', { restart: { backoffMs: 1 } })])
    const session = await openSession(executor, 'broken')
    await executor.close(session, 'closed')
    await becomes('ready', 2)
    expect(failed).toEqual([])
    expect(await failureOf(ask(executor, session, 'go'))).toMatchObject({ code: 'NOT_FOUND' })
    // The replayed call must not crash the new process too.
    await executor.close(session, 'closed')
    expect(executor.health()).toMatchObject({ workers: [{ state: 'ready', restarts: 1 }] })
  })

  it.each([
    ['version', 'acp', 'PROTOCOL', 'Worker broken does not speak version 1 of the Agent Client Protocol'],
    ['proof', 'token', 'AUTH', 'Worker broken did not prove that it is the process that was started'],
    ['noproof', 'token', 'AUTH', 'Worker broken did not prove that it is the process that was started'],
  ] as const)('B74: %s: the worker is ended and not restarted, and reports why', async (fault, handshake, code, reason) => {
    const clock = manualClock()
    const { env, told } = await toldFile()
    const { executor, becomes, notices } = await startWorkers([brokenWorker(fault, { handshake, env })], { clock })
    const waiting = failureOf(executor.open(sessionOf('broken'), 'create'))
    await becomes('unavailable')
    expect(await waiting).toMatchObject({ code, retryable: false })
    expect(await failureOf(executor.open(sessionOf('broken'), 'create'))).toMatchObject({ code })
    expect(isRunning(told()[0]?.['pid'] as number)).toBe(false)
    await clock.advance(1_000_000)
    expect(notices.filter((notice) => notice.type === 'worker-changed' && notice.to === 'starting')).toHaveLength(1)
    expect(executor.agents()[0]).toMatchObject({ status: 'unavailable', reason })
    expect(executor.health()).toEqual({ healthy: false, workers: [{ id: 'broken', state: 'unavailable', restarts: 0, reason }] })
  })

  it('B73: until it has answered, prompts wait; after startTimeoutMs it is ended', async () => {
    const clock = manualClock()
    const { executor, becomes, notices } = await startWorkers([brokenWorker('mute', { restart: { maxRestarts: 0 } })], { clock })
    let settled = false
    const open = failureOf(executor.open(sessionOf('broken'), 'create')).finally(() => (settled = true))
    await clock.advance(9999)
    expect(settled).toBe(false)
    expect(executor.agents()[0]?.status).toBe('starting')
    expect(executor.health()).toMatchObject({ healthy: false, workers: [{ state: 'starting' }] })
    await clock.advance(1)
    expect(await becomes('unavailable')).toMatchObject({
      reason: 'was not ready within 10000 ms: does it speak the Agent Client Protocol on stdin and stdout?',
    })
    expect(await open).toMatchObject({ code: 'TRANSPORT', retryable: true, details: { outcome: 'none', retryAfterMs: 60_000 } })
    expect(notices.some((notice) => notice.type === 'worker-changed' && notice.to === 'ready')).toBe(false)
  })

  it.each([true, false])('B83: a worker that cannot be started reports why (guard: %s)', async (guard) => {
    const missing = { id: 'missing', command: 'no-such-program-anywhere', guard, restart: { maxRestarts: 0 } }
    const { executor, becomes } = await startWorkers([missing])
    const error = await failureOf(executor.open(sessionOf('missing'), 'create'))
    expect(error).toMatchObject({ code: 'TRANSPORT', message: expect.stringContaining('no program "no-such-program-anywhere"') })
    expect(await becomes('unavailable')).toMatchObject({ restarts: 0 })
  })

  it('B83: an entry that throws reports why to its caller and in discovery, redacted and bounded', async () => {
    const fault = `no key sk-abcdefghijklmnop in /home/me/keys.json ${'x'.repeat(300)}`
    const worker = servedWorker({ id: 'throws', env: { FAULT: fault }, restart: { maxRestarts: 0 } }, 'throwing-entry')
    const { bridge } = await startBridgeOf({ clock: systemClock }, workerExecutor({ workers: [worker] }))
    atEnd(() => bridge.stop())
    const { message, code } = failureOfResult(await bridge.delegate({ prompt: 'hi' }).result())
    const reason = 'exited with 1: TypeError: no key [redacted] in [path] xxx'
    expect(code).toBe('TRANSPORT')
    expect(message.startsWith(`Worker throws is not running: ${reason}`)).toBe(true)
    expect(message.length).toBeLessThan(260)
    expect(bridge.discover()).toMatchObject([{ id: 'throws', status: 'unavailable', reason: expect.stringContaining(reason) }])
  })

  it.each<[string, object, string]>([
    ['an entry', { entry: './nowhere.ts' }, 'there is no entry "./nowhere.ts"'],
    [
      'an entry in a folder',
      { entry: './nowhere.ts', cwd: import.meta.dirname },
      `there is no entry "./nowhere.ts" in ${JSON.stringify(import.meta.dirname)}`,
    ],
    ['the folder of an entry', { entry: './agent.ts', cwd: './nowhere' }, 'there is no folder "./nowhere"'],
    ['the folder of a command', { command: process.execPath, cwd: './nowhere' }, 'there is no folder "./nowhere"'],
    [
      'a folder that is a file',
      { command: process.execPath, cwd: process.execPath },
      `there is no folder ${JSON.stringify(process.execPath)}`,
    ],
  ])('B83: a worker without %s names what is missing as it was written; the others work', async (_, parts, missing) => {
    const away = { id: 'away', restart: { maxRestarts: 0 }, ...parts } as WorkerOptions
    const { executor, becomes } = await startWorkers([away, foreignWorker()])
    await becomes('unavailable')
    await openSession(executor, 'foreign')
    expect(executor.agents()).toMatchObject([
      { id: 'away', status: 'unavailable', reason: `could not be started: ${missing}` },
      { id: 'foreign', status: 'ready' },
    ])
    const error = await failureOf(executor.open(sessionOf('away'), 'create'))
    expect(error.message).toBe(`Worker away is not running: could not be started: ${missing}`)
  })

  it('B83: each pause before a restart is twice the one before; after maxRestarts the worker is unavailable until the window has passed', async () => {
    const clock = manualClock()
    const restart = { maxRestarts: 3, windowMs: 10_000, backoffMs: 100, maxBackoffMs: 300 }
    const short = { id: 'short', command: process.execPath, args: ['-e', 'process.exit(4)'], guard: false, restart }
    const { becomes, notice, executor } = await startWorkers([short], { clock })
    for (const [place, pauseMs] of [100, 200, 300].entries()) {
      await becomes('waiting', place + 1)
      await clock.advance(pauseMs - 1)
      expect(executor.health().workers?.[0]).toMatchObject({ state: 'waiting', restarts: place })
      await clock.advance(1)
      await becomes('starting', place + 2)
    }
    expect(await becomes('unavailable', 4)).toMatchObject({
      restarts: 3,
      reason: 'exited with 4: does it speak the Agent Client Protocol on stdin and stdout?',
    })
    expect(await failureOf(executor.open(sessionOf('short'), 'create'))).toMatchObject({
      code: 'TRANSPORT',
      details: { retryAfterMs: 9500 },
    })
    await clock.advance(9499)
    expect(executor.health().workers?.[0]?.state).toBe('unavailable')
    await clock.advance(1)
    const again = (each: NoticeBody): boolean => each.type === 'worker-changed' && each.to === 'starting' && each.generation === 5
    expect(await notice(again)).toMatchObject({ restarts: 4 })
  })

  it('B81: after three pings without an answer the worker is lost', async () => {
    const clock = manualClock()
    const { executor, becomes } = await startWorkers([brokenWorker('deaf')], { clock })
    await openSession(executor, 'broken')
    await clock.advance(39_999)
    expect(executor.health().workers?.[0]?.state).toBe('ready')
    await clock.advance(1)
    expect(await becomes('waiting')).toMatchObject({ reason: 'did not answer three pings' })
  })

  it('B90: stdin is closed, SIGTERM follows after 2 s, and SIGKILL after the grace period', async () => {
    const clock = manualClock()
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([brokenWorker('stubborn', { env })], { clock, cancelGraceMs: 700 })
    await openSession(executor, 'broken')
    const pid = told()[0]?.['pid'] as number
    let stopped = false
    const stop = executor.stop({ deadlineMs: 10_000 }).finally(() => (stopped = true))
    await clock.advance(2699)
    expect([isRunning(pid), stopped]).toEqual([true, false])
    await clock.advance(1)
    await stop
    await eventually('it has ended', () => !isRunning(pid))
  })

  it('B90: stop ends at its deadline, whatever the worker does', async () => {
    const clock = manualClock()
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([brokenWorker('stubborn', { env })], { clock, cancelGraceMs: 60_000 })
    await openSession(executor, 'broken')
    const stop = executor.stop({ deadlineMs: 1000 })
    await clock.advance(1000)
    await stop
    await eventually('it has ended', () => !isRunning(told()[0]?.['pid'] as number))
  })
})
