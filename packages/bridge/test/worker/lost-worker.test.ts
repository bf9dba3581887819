import { describe, expect, it } from 'vitest'
import { recordOf } from '../../src/worker/meta.ts'
import {
  ask,
  eventually,
  failureOf,
  foreignWorker,
  isRunning,
  openSession,
  reading,
  requestOf,
  servedWorker,
  sessionOf,
  startWorkers,
  summary,
  toldFile,
} from './support.ts'

const soon = { restart: { backoffMs: 1 } }

describe('a worker that is lost', () => {
  it('B81: in the middle of a prompt the request fails with an unknown outcome, and its session with it', async () => {
    const { executor, becomes, failed } = await startWorkers([foreignWorker([], soon)])
    const session = await openSession(executor, 'foreign')
    const error = await failureOf(ask(executor, session, 'die'))
    expect(error).toMatchObject({
      code: 'TRANSPORT',
      retryable: false,
      details: { outcome: 'unknown', sessionValid: false, reason: 'worker-lost' },
    })
    await becomes('ready', 2)
    expect(failed).toEqual([])
    expect((await ask(executor, await openSession(executor, 'foreign', 'bs_2'), 'stream')).text).toBe('one two three')
    expect(executor.health().workers).toEqual([{ id: 'foreign', state: 'ready', restarts: 1 }])
  })

  it('B81: a session without a prompt fails too, if the worker cannot resume it', async () => {
    const { executor, failed, becomes } = await startWorkers([foreignWorker([], soon)])
    const [idle, doomed] = [await openSession(executor, 'foreign', 'bs_1'), await openSession(executor, 'foreign', 'bs_2')]
    await failureOf(ask(executor, doomed, 'die'))
    await becomes('ready', 2)
    expect(failed.map(({ sessionId }) => sessionId)).toEqual(['bs_1'])
    expect(failed[0]?.error).toMatchObject({ code: 'TRANSPORT', details: { sessionValid: false } })
    expect(await failureOf(ask(executor, idle, 'stream').then())).toMatchObject({ code: 'NOT_FOUND' })
  })

  it.each(['resume', 'load'])('B81: sessions go on in the new process by session/%s', async (how) => {
    const { env, told } = await toldFile()
    const { executor, failed, notices } = await startWorkers([foreignWorker([how], { env, ...soon })])
    const [idle, doomed] = [await openSession(executor, 'foreign', 'bs_1'), await openSession(executor, 'foreign', 'bs_2')]
    const error = await failureOf(ask(executor, doomed, 'die'))
    expect(error).toMatchObject({ code: 'TRANSPORT', details: { outcome: 'unknown', sessionValid: true } })
    expect((await ask(executor, idle, 'stream')).text).toBe('one two three')
    expect((await ask(executor, doomed, 'stream')).text).toBe('one two three')
    expect(failed).toEqual([])
    expect(told().flatMap((each) => (how in each ? [recordOf(each[how])['sessionId']] : []))).toEqual(['session-1', 'session-2'])
    expect(notices.filter(({ type }) => type === 'dropped')).toEqual([])
  })

  it('B82: a durable agent gets the running request again, under its id, and the caller notices nothing', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([servedWorker({ id: 'durable', env, ...soon }, 'durable-agent')])
    const session = await openSession(executor, 'durable')
    expect(executor.agents()[0]?.durable).toBe(true)
    const { result } = await ask(executor, session, 'die 2', { requestId: 'r1' })
    expect(result).toEqual({
      text: 'whole',
      stopReason: 'end_turn',
      structured: { sessionId: 'bs_1', conversationId: 'bs_1', owner: 'ann' },
    })
    expect(told().filter((each) => 'prompt' in each)).toHaveLength(3)
    expect(told().filter((each) => 'create' in each)).toHaveLength(1)
  })

  it('B82: this happens at most maxRestarts times', async () => {
    const { env, told } = await toldFile()
    const restart = { maxRestarts: 2, backoffMs: 1 }
    const { executor } = await startWorkers([servedWorker({ id: 'durable', env, restart }, 'durable-agent')])
    const session = await openSession(executor, 'durable')
    const error = await failureOf(ask(executor, session, 'die 99', { requestId: 'r1' }))
    expect(error).toMatchObject({ code: 'TRANSPORT', retryable: true, details: { outcome: 'unknown', sessionValid: true } })
    expect(told().filter((each) => 'prompt' in each)).toHaveLength(3)
  })

  it('B97: a durable agent resumes a session that another bridge opened, and no hook runs', async () => {
    const { env, told } = await toldFile()
    const first = await startWorkers([servedWorker({ id: 'durable', env }, 'durable-agent')])
    await openSession(first.executor, 'durable')
    await first.executor.stop({ deadlineMs: 5000 })
    const { executor } = await startWorkers([servedWorker({ id: 'durable', env }, 'durable-agent')])
    const session = sessionOf('durable')
    await executor.open(session, 'attach')
    expect((await ask(executor, session, 'go on')).result?.text).toBe('whole')
    await executor.close(session, 'closed')
    expect(told().filter((each) => !('prompt' in each))).toEqual([{ create: 'bs_1' }, { close: 'bs_1' }])
  })

  it('B23: a conversation goes on under a new handle only with an agent that keeps conversations', async () => {
    const { env } = await toldFile()
    const { executor } = await startWorkers([foreignWorker(['resume']), servedWorker({ id: 'durable', env }, 'durable-agent')])
    const earlier = { conversationId: 'bs_0' }
    const refused = { code: 'CONFIG', details: { reason: 'not-resumable' } }
    expect(await failureOf(executor.open(sessionOf('foreign', 'bs_1', earlier), 'create'))).toMatchObject(refused)
    expect(await failureOf(executor.open(sessionOf('foreign', 'bs_1'), 'attach'))).toMatchObject(refused)
    const session = await openSession(executor, 'durable', 'bs_1', earlier)
    expect((await ask(executor, session, 'go on')).result?.structured).toMatchObject({ sessionId: 'bs_1', conversationId: 'bs_0' })
  })

  it('B45: a prompt that waits for a new process can be cancelled', async () => {
    const { executor, becomes } = await startWorkers([
      foreignWorker(['resume'], { restart: { backoffMs: 1_000_000, maxBackoffMs: 1_000_000 } }),
    ])
    const session = await openSession(executor, 'foreign')
    await failureOf(ask(executor, session, 'die'))
    await becomes('waiting')
    const abort = new AbortController()
    const prompt = reading(executor, requestOf(session, 'stream', { abortSignal: abort.signal }))
    const rest = prompt.rest()
    abort.abort()
    await executor.cancel({ session, requestId: prompt.request.requestId, reason: 'caller' })
    expect(await rest).toEqual([])
  })

  it('B83: other workers are not affected', async () => {
    const { executor } = await startWorkers([foreignWorker([], { id: 'a', ...soon }), foreignWorker([], { id: 'b' })])
    const [left, right] = [await openSession(executor, 'a', 'bs_1'), await openSession(executor, 'b', 'bs_2')]
    const waiting = reading(executor, requestOf(right, 'wait', { requestId: 'r1' }))
    await waiting.next()
    await failureOf(ask(executor, left, 'die'))
    await executor.cancel({ session: right, requestId: 'r1', reason: 'caller' })
    expect(summary(await waiting.rest()).result?.stopReason).toBe('cancelled')
    expect(executor.health().workers?.[1]).toEqual({ id: 'b', state: 'ready', restarts: 0 })
  })

  it('B91: the children of a worker end with it', async () => {
    const { executor } = await startWorkers([foreignWorker(['resume'], soon)])
    const session = await openSession(executor, 'foreign')
    const [worker, child] = (await ask(executor, session, 'child')).text.split(' ').map(Number) as [number, number]
    expect([isRunning(worker), isRunning(child)]).toEqual([true, true])
    process.kill(worker, 'SIGKILL')
    await eventually('both have ended', () => !isRunning(worker) && !isRunning(child), 5000)
  })

  it('B86: of a worker that sends too much, the bridge reads no more than its readers do', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([foreignWorker([], { env })])
    const session = await openSession(executor, 'foreign')
    const bytes = 16 * 1024 * 1024
    const prompt = reading(executor, requestOf(session, `flood ${bytes}`))
    await prompt.next()
    let before = -1
    await eventually('it can write no more', () => {
      const sent = told().length
      const stands = sent === before
      before = sent
      return stands
    })
    expect(told().at(-1)?.['sent']).toBeLessThan(4 * 1024 * 1024)
    const rest = summary(await prompt.rest())
    expect(rest.text.length).toBe(bytes - 64 * 1024)
  })
})
