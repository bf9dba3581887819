import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { workerEnvironment } from '../../src/executors/worker/environment.ts'
import { BridgeError } from '../../src/index.ts'
import type { WorkerOptions } from '../../src/index.ts'
import { recordOf } from '../../src/worker/meta.ts'
import { takeToken } from '../../src/worker/take-token.ts'
import { nodeFlags } from '../../../../scripts/programs.ts'
import { fixtureFile } from '../programs.ts'
import {
  ask,
  failureOf,
  isRunning,
  newSession,
  openSession,
  reading,
  requestOf,
  servedWorker,
  sessionOf,
  sharedWorkers,
  startWorkers,
  summary,
  toldFile,
} from './support.ts'

/** 256 bits, encoded as in the handshake. */
const tokenForm = /(?<![\w-])[\w-]{43}(?![\w-])/

function namesOf(environ: readonly string[]): readonly string[] {
  return environ
    .filter((line) => line !== '')
    .map((line) => line.slice(0, line.indexOf('=')))
    .sort()
}

describe('a worker made with serveWorker', () => {
  const shared = sharedWorkers(() => [servedWorker()])

  it('B6: B73: is listed with its own description, under the id of the configuration', async () => {
    const { executor } = await startWorkers([servedWorker({ id: 'w1', capabilities: ['mine'] }), servedWorker({ id: 'w2' })])
    expect(executor.agents()).toEqual([
      { id: 'w1', capabilities: ['mine'], status: 'starting', durable: false },
      { id: 'w2', capabilities: [], status: 'starting', durable: false },
    ])
    await openSession(executor, 'w1')
    await openSession(executor, 'w2', 'bs_2')
    const said = {
      name: 'Served',
      description: 'Does as it is told.',
      version: '1.2.3',
      status: 'ready',
      durable: false,
      providers: [{ id: 'p', models: ['m1'] }],
    }
    expect(executor.agents()).toEqual([
      { id: 'w1', capabilities: ['mine'], ...said },
      { id: 'w2', capabilities: ['obey'], ...said },
    ])
    expect(executor.health()).toEqual({
      healthy: true,
      workers: [
        { id: 'w1', state: 'ready', restarts: 0 },
        { id: 'w2', state: 'ready', restarts: 0 },
      ],
    })
  })

  it('B32: the whole result arrives unchanged, and nothing after it', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'served')
    const { events } = await ask(executor, session, 'everything')
    expect(events).toEqual([
      { type: 'text-delta', delta: 'half' },
      { type: 'progress', message: 'working', progress: 1, total: 2 },
      {
        type: 'result',
        result: {
          text: 'all',
          stopReason: 'max_tokens',
          structured: { b: null, a: [1.5, { z: '' }] },
          usage: { inputTokens: 1, outputTokens: 2 },
          cost: { currency: 'USD', total: '0.0001' },
        },
      },
    ])
    expect(JSON.stringify(events.at(-1))).toContain('{"b":null,"a":[1.5,{"z":""}]}')
  })

  it('B30: a promised result equals one in a stream, and a stream without result stays without', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'served')
    expect((await ask(executor, session, 'hello')).events).toEqual([
      { type: 'result', result: { text: 'echo: hello', stopReason: 'end_turn' } },
    ])
    expect((await ask(executor, session, 'stream')).events.map(({ type }) => type)).toEqual(['text-delta', 'text-delta', 'text-delta'])
  })

  it('B37: B38: B56: session and request reach the agent unchanged, and its own delegations know their depth', async () => {
    const { executor } = shared()
    const metadata = { team: 'red', deep: [null] }
    const session = await newSession(executor, 'served', { metadata })
    const parts = { requestId: 'r1', runtimeParams: { temperature: 0, stopSequences: [] }, deadlineAt: 123 }
    const { result } = await ask(executor, session, 'request', parts)
    expect(result?.structured).toEqual({
      session,
      ...parts,
      prompt: 'request',
      answers: null,
      work: { owner: 'ann', sessionId: session.sessionId, agentId: 'served', requestId: 'r1', depth: 1, path: ['above'] },
    })
    const after = (await ask(executor, session, 'request')).result?.structured as { runtimeParams: object }
    expect(after.runtimeParams).toEqual({})
  })

  it('B85: events and results that are longer than a line arrive whole', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'served')
    const { text, result } = await ask(executor, session, `long ${700_000}`)
    const whole = 'é"\u0001'.repeat(700_000)
    expect(text === whole).toBe(true)
    expect(result?.text === whole).toBe(true)
  })

  it('B41: B40: answers go to the next attempt, or to the stream that is still open', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'served')
    const answers = [{ id: 'a1', decision: 'approve' as const }]
    expect((await ask(executor, session, 'ask', { requestId: 'r1' })).result).toMatchObject({
      stopReason: 'needs_input',
      pending: [{ id: 'a1' }],
    })
    expect(await executor.answer?.({ session, requestId: 'r1', answers })).toBe(false)
    expect((await ask(executor, session, '', { requestId: 'r1', answers })).result?.text).toBe(JSON.stringify(answers))
    const open = reading(executor, requestOf(session, 'askOpen', { requestId: 'r2' }))
    expect(await open.next()).toMatchObject({ type: 'needs-input', pending: [{ id: 'a1' }] })
    expect(await executor.answer?.({ session, requestId: 'r1', answers })).toBe(false)
    expect(await executor.answer?.({ session, requestId: 'r2', answers })).toBe(true)
    expect(summary(await open.rest()).text).toBe(JSON.stringify(answers))
  })

  it('B34: an error of the bridge arrives as thrown, another one without its text', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'served')
    const own = await failureOf(ask(executor, session, 'bridgeError'))
    expect(own).toMatchObject({ code: 'CAPACITY', message: 'come back', retryable: true, details: { retryAfterMs: 5, reason: 'tired' } })
    // The bridge turns it into "Agent served failed", like any untyped error.
    const other = ask(executor, session, 'plainError')
    await expect(other).rejects.toThrow('Agent served failed in its process; see the stderr of the process')
    await expect(other).rejects.not.toBeInstanceOf(BridgeError)
  })

  it('B11: an error of the create hook is passed on, and there is no session', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([servedWorker({ env })])
    const session = sessionOf('served', 'bs_1', { metadata: { refuse: true } })
    expect(await failureOf(executor.open(session, 'create'))).toMatchObject({ code: 'CONFIG', message: 'not with me' })
    await executor.close(session, 'failed')
    expect(told().some((each) => 'close' in each)).toBe(false)
  })

  it('B46: B48: a cancel aborts the agent and reaches its hook with the reason', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([servedWorker({ env })])
    const session = await openSession(executor, 'served')
    const prompt = reading(executor, requestOf(session, 'wait', { requestId: 'r1' }))
    await prompt.next()
    await executor.cancel({ session, requestId: 'r1', reason: 'timeout' })
    expect(await prompt.rest()).toEqual([])
    expect(told().filter((each) => 'cancel' in each)).toEqual([{ cancel: 'r1', reason: 'timeout' }])
    expect((await ask(executor, session, 'hello')).result?.text).toBe('echo: hello')
  })

  it('B18: hooks run once, with the reason; a detached session runs none', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([servedWorker({ env })])
    const sessions = [
      await openSession(executor, 'served', 'bs_1'),
      await openSession(executor, 'served', 'bs_2'),
      await openSession(executor, 'served', 'bs_3'),
    ] as const
    await executor.close(sessions[0], 'expired')
    await executor.close(sessions[0], 'closed')
    executor.detach?.(sessions[1])
    await ask(executor, sessions[2], 'stream')
    await executor.stop({ deadlineMs: 5000 })
    expect(
      told()
        .filter((each) => 'create' in each)
        .map((each) => recordOf(each['create'])['sessionId']),
    ).toEqual(['bs_1', 'bs_2', 'bs_3'])
    expect(told().filter((each) => 'close' in each)).toEqual([
      { close: 'bs_1', reason: 'expired' },
      { close: 'bs_3', reason: 'shutdown' },
    ])
  })

  it('B84: B6: accepts as many sessions as it declares, and is busy then', async () => {
    const { executor } = await startWorkers([servedWorker()])
    const sessions = []
    for (const id of ['bs_1', 'bs_2', 'bs_3']) sessions.push(await openSession(executor, 'served', id))
    expect(executor.agents()[0]?.status).toBe('busy')
    expect(await failureOf(openSession(executor, 'served', 'bs_4'))).toMatchObject({ code: 'CAPACITY', retryable: true })
    const answers = await Promise.all(sessions.map((session, place) => ask(executor, session, `number ${place}`)))
    expect(answers.map(({ result }) => result?.text)).toEqual(['echo: number 0', 'echo: number 1', 'echo: number 2'])
    await executor.close(sessions[0] as never, 'closed')
    expect(executor.agents()[0]?.status).toBe('ready')
    await openSession(executor, 'served', 'bs_4')
  })

  it('B78: a session stays where it was opened; a new one goes to the worker with the fewest', async () => {
    const { executor } = await startWorkers([servedWorker({ instances: 2 })])
    // The health of a worker is that of its best process, so it does not tell that both are ready.
    await executor.refresh?.({ waitMs: 60_000 })
    const pidOf = async (sessionId: string, create = true): Promise<unknown> => {
      const session = create ? await openSession(executor, 'served', sessionId) : sessionOf('served', sessionId)
      const { own } = JSON.parse((await ask(executor, session, 'token')).text) as { own: { WORKER_PID?: string } }
      return own.WORKER_PID
    }
    const [first, second, third, fourth] = [await pidOf('bs_1'), await pidOf('bs_2'), await pidOf('bs_3'), await pidOf('bs_4')]
    expect(second).not.toBe(first)
    expect([third, fourth].sort()).toEqual([first, second].sort())
    expect(await pidOf('bs_1', false)).toBe(first)
  })

  it('B111: output of its module, also while it is loaded, is not part of the protocol', async () => {
    const { executor } = await startWorkers([servedWorker({ env: { NOISY: 'yes' } })])
    const session = await openSession(executor, 'served')
    await expect(ask(executor, session, 'plainError')).rejects.toThrow()
    expect((await ask(executor, session, 'hello')).result?.text).toBe('echo: hello')
  })

  it.each<[string, (env: Record<string, string>) => WorkerOptions]>([
    ['that the bridge runs as an entry', (env) => servedWorker({ env })],
    [
      'that is run as a command',
      (env) => ({
        id: 'served',
        command: process.execPath,
        args: [...nodeFlags, fixtureFile('worker/fixtures/served-agent')],
        env,
        handshake: 'token',
      }),
    ],
  ])('B92: the token of a worker %s is in no environment, no arguments, no child and no log', async (_what, workerWith) => {
    const { env, told } = await toldFile()
    const { executor, logger, notices } = await startWorkers([workerWith(env)])
    const session = await openSession(executor, 'served')
    const seen = (await ask(executor, session, 'token')).text
    const { tokenAtImport, environ } = told()[0] as { tokenAtImport: unknown; environ: string[] }
    expect(tokenAtImport).toBeNull()
    // /proc shows the environment with which the process was started: inherited and configured variables.
    if (process.platform === 'linux') expect(namesOf(environ)).toEqual(Object.keys(workerEnvironment({ env }, process.env)).sort())
    for (const text of [seen, ...environ, JSON.stringify([logger.lines, notices])]) {
      expect(text).not.toMatch(tokenForm)
      expect(text).not.toContain('TOKEN')
    }
  })

  it('B92: the token is read from the first line however that arrives, and any other line stays', async () => {
    const token = (chunks: readonly string[]) => {
      const stdin = new PassThrough()
      for (const chunk of chunks) stdin.write(chunk)
      stdin.end()
      return takeToken(stdin).then(async (taken) => [taken, Buffer.concat(await stdin.toArray()).toString()])
    }
    const line = '{"jsonrpc":"2.0","method":"_bowline/token","params":{"token":"t"}}\n'
    expect(await token([line, 'rest\n'])).toEqual(['t', 'rest\n'])
    expect(await token([`${line}rest`])).toEqual(['t', 'rest'])
    expect(await token(['{"method":"initialize"}\n', line])).toEqual([undefined, `{"method":"initialize"}\n${line}`])
    expect(await token(['_bowline/token\n'])).toEqual([undefined, '_bowline/token\n'])
    expect(await token([])).toEqual([undefined, ''])
  })

  it('B90: B91: it ends without help when its stdin ends', async () => {
    const { executor, notices } = await startWorkers([servedWorker({ guard: false })])
    const session = await openSession(executor, 'served')
    const { own } = JSON.parse((await ask(executor, session, 'token')).text) as { own: { WORKER_PID: string } }
    await executor.stop({ deadlineMs: 5000 })
    expect(isRunning(Number(own.WORKER_PID))).toBe(false)
    expect(notices.at(-1)).toMatchObject({ type: 'worker-changed', to: 'stopped' })
    expect(executor.health()).toMatchObject({ healthy: false, workers: [{ state: 'stopped' }] })
    expect(await failureOf(openSession(executor, 'served', 'bs_2'))).toMatchObject({ code: 'TRANSPORT' })
  })
})
