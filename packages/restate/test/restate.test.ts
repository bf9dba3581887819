import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { isRestateMissing, sharedRestate, startBalancer, titleWithRestate, type Balancer } from '../../../scripts/restate.ts'
import { sessionsAt, sessionsOn, type RemoteSessions } from '../src/index.ts'
import type { WorkerOptions } from './fixtures/worker.ts'
import { workers, type Worker } from './workers.ts'

describe.skipIf(isRestateMissing)(titleWithRestate('sessions on Restate'), () => {
  const restate = sharedRestate()
  const database = testDatabase()
  const startWorker = workers()
  let objects = 0
  let balancer: Balancer
  let name: string
  let sessions: RemoteSessions

  beforeEach(async () => {
    name = `agents${++objects}`
    balancer = await startBalancer()
    sessions = sessionsAt({ url: restate().url, name })
  })
  afterEach(() => balancer.close())

  /** Starts a worker, and makes Restate call it and no other. */
  async function worker(options: Partial<WorkerOptions> = {}, beside: readonly Worker[] = []): Promise<Worker> {
    const started = await startWorker({ connectionString: database.url, url: restate().url, name, frozenAfterMs: 2_000, ...options })
    balancer.use(...beside.map(({ port }) => port), started.port)
    return started
  }

  async function first(options: Partial<WorkerOptions> = {}): Promise<Worker> {
    const started = await worker(options)
    await restate().register(balancer.url)
    return started
  }

  it('the same send twice is one run', async () => {
    const { said } = await first()
    const session = sessions.session('tenant:acme:once')
    const runs = await Promise.all([session.send('model 50', { id: 'm-1' }), session.send('model 50', { id: 'm-1' })])
    expect(new Set(runs.map(({ runId }) => runId)).size).toBe(1)
    expect(await runs[0]?.result()).toMatchObject({ status: 'completed', text: 'answer to model 50' })
    expect(said.filter(({ model }) => model !== undefined)).toHaveLength(1)
  })

  it('after a SIGKILL in a pure tool another worker calls the tool again and ends the run', async () => {
    const dead = await first()
    const run = await sessions.session('room:pure').send('look 300 pure')
    await dead.until(({ tool }) => tool === 'look')
    await dead.signal('SIGKILL')
    const next = await worker()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(next.said.filter(({ tool }) => tool === 'look')).toHaveLength(1)
  })

  it('after a SIGKILL in a tool that must start once the run waits for a decision, and goes on after it', async () => {
    const dead = await first({ lease: { ttlMs: 2_000, heartbeatMs: 500 } })
    const session = sessions.session('room:once')
    const run = await session.send('pay 60000 once')
    await dead.until(({ tool }) => tool === 'pay')
    await dead.signal('SIGKILL')
    const next = await worker()
    expect(await run.result()).toMatchObject({ status: 'needs-recovery' })
    const decided = await session.resolveTool('c-once', { output: 'paid' })
    expect(await decided.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(next.said.filter(({ tool }) => tool === 'pay')).toEqual([])
  })

  it('a SIGKILL of Restate in a tool that must start once disturbs nothing, also if another worker is asked then', async () => {
    const one = await first()
    const two = await worker({}, [one])
    balancer.use(one.port)
    const run = await sessions.session('room:engine').send('pay 1500 engine')
    await one.until(({ tool }) => tool === 'pay')
    await restate().kill()
    balancer.use(two.port)
    await restate().start()
    balancer.use(two.port)
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect([...one.said, ...two.said].filter(({ tool }) => tool === 'pay')).toHaveLength(1)
  })

  it('a turn that is longer than turnMs goes on in another invocation', async () => {
    const { said } = await first({ turnMs: 200 })
    const run = await sessions.session('room:long').send('look 500 long')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(said.filter(({ tool }) => tool === 'look')).toHaveLength(1)
    expect(
      await restate().query(`select count(*) as n from sys_invocation where target_service_name = '${name}' and status = 'paused'`),
    ).toEqual([{ n: 0 }])
  })

  it('a deadline, an input for later and a schedule come without a timer of a worker', async () => {
    await first()
    const session = sessions.session('room:later')
    const asked = await session.send('ask 0 later')
    expect(await asked.result()).toMatchObject({ status: 'awaiting-tools' })
    await expect.poll(async () => (await session.info())?.status).toBe('completed')
    const later = await session.send('model 0', { notBefore: Date.now() + 500 })
    expect(await later.result()).toMatchObject({ status: 'completed' })
    await session.schedule({ id: 's', at: Date.now() + 500, input: 'model 0 tick' })
    await expect.poll(async () => (await session.runs()).items.length).toBe(3)
  })

  it('a subagent runs as a session of its own, and its end wakes the parent', async () => {
    await first()
    const session = sessions.session('room:parent')
    const run = await session.send('help 100 now')
    await expect.poll(async () => (await session.info())?.status).toBe('completed')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    await session.send('help 100 later')
    // The end of a subagent in the background starts a run of its own.
    await expect
      .poll(async () => (await session.runs()).items.map(({ kind, status }) => `${kind} ${status}`))
      .toContain('notification completed')
  })

  it('a frozen worker is given up, and cannot write when it wakes', async () => {
    const frozen = await first({ frozenAfterMs: 2_000 })
    const run = await sessions.session('room:frozen').send('look 300 frozen')
    await frozen.until(({ tool }) => tool === 'look')
    await frozen.signal('SIGSTOP')
    const next = await worker({}, [frozen])
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    await frozen.signal('SIGCONT')
    expect(next.said.filter(({ tool }) => tool === 'look')).toHaveLength(1)
    expect(await run.result()).toMatchObject({ status: 'completed' })
  })

  it('refuses what cannot be done, with errors that say what to do', async () => {
    await first()
    const session = sessions.session('room:bad')
    await expect(session.send(42 as never)).rejects.toMatchObject({ code: 'invalid-input' })
    await expect(sessions.session('room bad').send('hi')).rejects.toMatchObject({ code: 'invalid-key' })
    await expect(sessions.session('room:1~helper~x').send('hi')).rejects.toMatchObject({ code: 'invalid-key' })
    await expect(session.result('run_of_nobody')).rejects.toMatchObject({ code: 'session-missing' })
    await session.open()
    await expect(session.result('run_of_nobody')).rejects.toMatchObject({ code: 'unknown-run' })
    await expect(sessionsAt({ url: restate().url, name: 'nobody' }).session('room:1').info()).rejects.toMatchObject({
      code: 'invalid-config',
      message: expect.stringContaining('register a worker') as string,
    })
    await expect(sessionsAt({ url: 'http://127.0.0.1:9' }).session('room:1').info()).rejects.toMatchObject({ code: 'store-unavailable' })
    expect(() => sessionsAt({ url: 'restate:8080' })).toThrow('url')
    expect(await sessions.session('room:nobody').info()).toBeNull()
  })

  it('if Restate is away, an input is stored all the same, and Restate is told of it when it is back', async () => {
    const { said } = await first()
    const faults: unknown[] = []
    const runtime = createRuntime({
      agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })],
      store: postgresStore({ connectionString: database.url, poolSize: 2 }),
      placement: 'host',
      timers: false,
      onError: (error) => void faults.push(error),
    })
    sessionsOn(runtime, { url: restate().url, name })
    await restate().kill()
    const run = await runtime.session('room:away').send('model 0')
    expect(await run.status()).toBe('queued')
    expect(faults).toMatchObject([{ code: 'store-unavailable', message: expect.stringContaining('Restate does not answer') as string }])
    await restate().start()
    await runtime.sweep()
    expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(said.some(({ model }) => model === 'model 0')).toBe(true)
    await runtime.stop()
  })

  it('old and new code side by side: a run that the old worker began ends there, and new inputs go to the new one', async () => {
    const old = await first()
    const begun = await sessions.session('room:old').send('look 1500 old')
    await old.until(({ tool }) => tool === 'look')
    const next = await startWorker({ connectionString: database.url, url: restate().url, name, frozenAfterMs: 2_000 })
    const fresh = await startBalancer()
    fresh.use(next.port)
    await restate().register(fresh.url)
    const later = await sessions.session('room:new').send('model 0 new')
    expect(await later.result()).toMatchObject({ status: 'completed' })
    expect(next.said.some(({ model }) => model === 'model 0 new')).toBe(true)
    expect(await begun.result()).toMatchObject({ status: 'completed' })
    expect([...old.said, ...next.said].filter(({ tool }) => tool === 'look')).toHaveLength(1)
    await fresh.close()
  })

  it('a worker that is told to stop hands its run on', async () => {
    const leaving = await first()
    const run = await sessions.session('room:leave').send('look 60000 leave')
    await leaving.until(({ tool }) => tool === 'look')
    const next = await worker()
    await leaving.signal('SIGTERM')
    await next.until(({ tool }) => tool === 'look')
    const receipt = await sessions.session('room:leave').stop()
    expect(receipt).toMatchObject({ state: 'settled', status: 'stopped' })
    expect(await run.result()).toMatchObject({ status: 'aborted' })
  })
})
