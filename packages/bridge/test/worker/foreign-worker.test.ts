import { describe, expect, it } from 'vitest'
import { bowlineMeta } from '../../src/worker/meta.ts'
import {
  approve,
  ask,
  failureOf,
  foreignWorker,
  newSession,
  openSession,
  reading,
  requestOf,
  sharedWorkers,
  startWorkers,
  summary,
  toldFile,
} from './support.ts'

describe('a worker that speaks the plain protocol', () => {
  const shared = sharedWorkers(() => [foreignWorker()])

  it('B73: its text comes in the order in which it was sent, with the end after it', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'foreign')
    const { events } = await ask(executor, session, 'stream')
    expect(events).toEqual(['one ', 'two ', 'three'].map((delta) => ({ type: 'text-delta', delta })))
  })

  it('B73: thoughts, plans and tool calls are progress; stop reason and usage reach the result', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'foreign')
    const { events, result } = await ask(executor, session, 'everything')
    expect(events.filter(({ type }) => type === 'progress')).toEqual([
      { type: 'progress', message: 'hm' },
      { type: 'progress', message: 'leap', progress: 1, total: 2 },
      { type: 'progress', message: 'Reading: pending' },
      { type: 'progress', message: 'Reading: completed' },
    ])
    expect(result).toEqual({ text: 'done', stopReason: 'max_tokens', usage: { totalTokens: 321 } })
    expect((await ask(executor, session, 'usage')).result?.usage).toEqual({
      inputTokens: 3,
      outputTokens: 4,
      totalTokens: 7,
      cacheReadTokens: 1,
    })
  })

  it('B77, B10: metadata and parameters reach it, and nothing that names the owner of the session', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([foreignWorker(['close'], { env })])
    const metadata = { team: 'red', runtimeParams: { topK: 3 } }
    const session = await openSession(executor, 'foreign', 'bs_1', { metadata })
    await ask(executor, session, 'stream', { runtimeParams: { temperature: 0.5 }, requestId: 'r9', deadlineAt: 99 })
    await executor.close(session, 'closed')
    const meta = told().map((each) => bowlineMeta(Object.values(each)[0]))
    expect(meta[0]).toEqual({ challenge: expect.any(String) })
    expect(meta[1]).toEqual({ agentId: 'foreign', metadata, runtimeParams: { topK: 3 }, depth: 1, path: ['above'] })
    expect(meta[2]).toEqual({ requestId: 'r9', runtimeParams: { temperature: 0.5 }, deadlineAt: 99 })
    expect(meta[3]).toEqual({ reason: 'closed' })
    expect(told()[0]).toMatchObject({ initialize: { protocolVersion: 1 } })
    expect(told()[1]).toMatchObject({ new: { cwd: process.cwd(), mcpServers: [] } })
  })

  it('B87: its request for a file is refused, and file access is not offered', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([foreignWorker([], { env })])
    const session = await openSession(executor, 'foreign')
    expect((await ask(executor, session, 'files')).text).toBe('-32601')
    const [{ initialize }] = told() as [{ initialize: { clientCapabilities: object } }]
    expect(JSON.stringify(initialize.clientCapabilities)).not.toContain('true')
  })

  it.each([
    [{ id: 'permission-1', decision: 'approve' as const }, 'yes'],
    [{ id: 'permission-1', decision: 'deny' as const }, 'no'],
  ])('B88: a request for permission waits for an answer: %o', async (answer, said) => {
    const { executor } = shared()
    const session = await newSession(executor, 'foreign')
    const prompt = reading(executor, requestOf(session, 'permission'))
    expect(await prompt.next()).toEqual({
      type: 'needs-input',
      pending: [{ id: 'permission-1', kind: 'approval', toolName: 'Delete everything', input: { path: '/' } }],
    })
    const { requestId } = prompt.request
    expect(await executor.answer?.({ session, requestId, answers: [approve('other')] })).toBe(false)
    const edited = executor.answer?.({ session, requestId, answers: [{ ...answer, input: {} }] }) as Promise<boolean>
    expect(await failureOf(edited)).toMatchObject({ code: 'PROTOCOL' })
    expect(await executor.answer?.({ session, requestId, answers: [answer] })).toBe(true)
    expect(summary(await prompt.rest()).text).toBe(said)
  })

  it('B88: with permissions "deny" the caller is not asked', async () => {
    const { executor } = await startWorkers([foreignWorker([], { permissions: 'deny' })])
    const session = await openSession(executor, 'foreign')
    const { events, text } = await ask(executor, session, 'permission')
    expect(text).toBe('no')
    expect(events.map(({ type }) => type)).not.toContain('needs-input')
  })

  it('B88: a cancelled request answers the permission with "cancelled"', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'foreign')
    const prompt = reading(executor, requestOf(session, 'permission'))
    await prompt.next()
    await executor.cancel({ session, requestId: prompt.request.requestId, reason: 'caller' })
    expect(summary(await prompt.rest()).text).toBe('cancelled')
  })

  it('B50: a cancel reaches it, and its answer ends the prompt', async () => {
    const { env, told } = await toldFile()
    const { executor } = await startWorkers([foreignWorker([], { env })])
    const session = await openSession(executor, 'foreign')
    const prompt = reading(executor, requestOf(session, 'wait', { requestId: 'r1' }))
    expect(await prompt.next()).toEqual({ type: 'text-delta', delta: 'waiting' })
    await executor.cancel({ session, requestId: 'another', reason: 'caller' })
    await executor.cancel({ session, requestId: 'r1', reason: 'caller' })
    expect(await prompt.rest()).toEqual([{ type: 'result', result: { text: 'waiting', stopReason: 'cancelled' } }])
    expect(told().filter((each) => 'cancel' in each)).toHaveLength(1)
  })

  it('B79: output after the answer is dropped and reported', async () => {
    const { executor, notice } = await startWorkers([foreignWorker()])
    const session = await openSession(executor, 'foreign')
    expect((await ask(executor, session, 'after')).text).toBe('')
    await openSession(executor, 'foreign', 'bs_2')
    expect(await notice(({ type }) => type === 'dropped')).toMatchObject({ what: 'update', sessionId: 'bs_1', workerId: 'foreign' })
  })

  it('B79: late output and the late answer of a prompt without readers are dropped and reported', async () => {
    const { executor, notice } = await startWorkers([foreignWorker()])
    const session = await openSession(executor, 'foreign')
    const prompt = reading(executor, requestOf(session, 'stubbornThenLate', { requestId: 'r1' }))
    await prompt.next()
    const ended = prompt.rest()
    await executor.cancel({ session, requestId: 'r1', reason: 'timeout' })
    await prompt.leave()
    expect(await ended).toEqual([])
    await openSession(executor, 'foreign', 'bs_2')
    expect(await notice((each) => each.type === 'dropped' && each.what === 'answer')).toMatchObject({ requestId: 'r1' })
  })

  it('B89: an error keeps code and data, and its text decides nothing', async () => {
    const { executor } = shared()
    const session = await newSession(executor, 'foreign')
    const error = await failureOf(ask(executor, session, 'fail'))
    expect(error).toMatchObject({
      code: 'UPSTREAM',
      retryable: false,
      details: { agentId: 'foreign', sessionId: session.sessionId, upstreamCode: { code: -32050, data: { shelf: 3 } } },
    })
    expect(await failureOf(ask(executor, session, 'auth'))).toMatchObject({ code: 'AUTH' })
  })

  it('B80: two workers that use the same session id do not conflict', async () => {
    const { executor } = await startWorkers([foreignWorker([], { id: 'a' }), foreignWorker([], { id: 'b' })])
    const [left, right] = [await openSession(executor, 'a', 'bs_1'), await openSession(executor, 'b', 'bs_2')]
    const waiting = reading(executor, requestOf(left, 'wait', { requestId: 'r1' }))
    await waiting.next()
    expect((await ask(executor, right, 'stream')).text).toBe('one two three')
    await executor.cancel({ session: left, requestId: 'r1', reason: 'caller' })
    expect(summary(await waiting.rest()).result?.text).toBe('waiting')
  })

  it('B75: B76: it gets the configured variables over those on the list, and its arguments unchanged', async () => {
    process.env['BRIDGE_SECRET'] = 'hush'
    const args = ['$HOME', 'two words', '"; exit 1']
    const { executor } = await startWorkers([foreignWorker(args, { env: { MINE: 'yes', LANG: 'xx' }, cwd: import.meta.dirname })])
    const session = await openSession(executor, 'foreign')
    const seen = JSON.parse((await ask(executor, session, 'environment')).text) as {
      env: Record<string, string>
      argv: string[]
      cwd: string
    }
    delete process.env['BRIDGE_SECRET']
    expect(seen.env).toMatchObject({ MINE: 'yes', LANG: 'xx', PATH: process.env['PATH'] })
    expect(Object.keys(seen.env).filter((name) => !/^(PATH|HOME|LANG|LC_\w+|TZ|TMPDIR|MINE)$/.test(name))).toEqual([])
    expect(seen).toMatchObject({ argv: args, cwd: import.meta.dirname })
  })

  it('B75: with inheritEnv it gets all variables except those of the bridge', async () => {
    process.env['BRIDGE_SECRET'] = 'hush'
    process.env['BOWLINE_BRIDGE_TOKEN'] = 'hush'
    const { executor } = await startWorkers([foreignWorker([], { inheritEnv: true })])
    const session = await openSession(executor, 'foreign')
    const seen = JSON.parse((await ask(executor, session, 'environment')).text) as { env: Record<string, string> }
    delete process.env['BRIDGE_SECRET']
    delete process.env['BOWLINE_BRIDGE_TOKEN']
    expect(seen.env).toMatchObject({ BRIDGE_SECRET: 'hush' })
    expect(Object.keys(seen.env).filter((name) => name.startsWith('BOWLINE_'))).toEqual([])
  })
})
