import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { createRuntime, type Runtime } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { testDatabase } from '../../../scripts/postgres.ts'
import { isRestateMissing, sharedRestate, startBalancer, titleWithRestate, type Balancer } from '../../../scripts/restate.ts'
import { sessionsOn } from '../src/index.ts'
import { workers, type Worker } from './workers.ts'

const lease = { ttlMs: 2_000, heartbeatMs: 500 }

describe.skipIf(isRestateMissing)(titleWithRestate('an invocation that Restate no longer tries'), () => {
  // An operator may limit the attempts of all services.
  const restate = sharedRestate({ RESTATE_MAX_RETRY_POLICY_MAX_ATTEMPTS: '3' })
  const database = testDatabase()
  const startWorker = workers()
  let objects = 0
  let balancer: Balancer
  let name: string
  let runtime: Runtime

  beforeEach(async () => {
    name = `paused${++objects}`
    balancer = await startBalancer()
    runtime = createRuntime({
      agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })],
      store: postgresStore({ connectionString: database.url, poolSize: 2 }),
      placement: 'host',
      timers: false,
    })
    sessionsOn(runtime, { url: restate().url, name })
  })
  afterEach(async () => {
    await runtime.stop()
    await balancer.close()
  })

  async function worker(): Promise<Worker> {
    const started = await startWorker({ connectionString: database.url, url: restate().url, name, frozenAfterMs: 2_000, lease })
    balancer.use(started.port)
    return started
  }

  const visits = (): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    restate().query(
      `select id, status from sys_invocation where target_service_name = '${name}' and target_handler_name = 'work' and status <> 'completed' order by created_at`,
    )

  it('a limit of attempts on the server ends an invocation and stops no session: the next sweep begins another one', async () => {
    const dead = await worker()
    await restate().register(balancer.url)
    const run = await runtime.session('room:limit').send('look 60000 limit')
    await dead.until(({ tool }) => tool === 'look')
    await dead.signal('SIGKILL')
    await expect.poll(visits, { timeout: 15_000 }).toEqual([])
    const next = await worker()
    const isTaken = async (): Promise<boolean> => {
      await runtime.sweep()
      return next.said.some(({ tool }) => tool === 'look')
    }
    await expect.poll(isTaken, { timeout: 15_000 }).toBe(true)
    await run.stop()
    expect(await run.result()).toMatchObject({ status: 'aborted' })
  })

  it('an invocation that an operator pauses holds its session until it is resumed, and the sweeps meanwhile double nothing', async () => {
    const dead = await worker()
    await restate().register(balancer.url)
    const session = runtime.session('room:paused')
    const first = await session.send('look 60000 paused')
    await dead.until(({ tool }) => tool === 'look')
    await expect.poll(visits, { timeout: 10_000 }).toMatchObject([{ status: 'running' }])
    const [visit] = await visits()
    await restate().pause(String(visit?.['id']))
    await expect.poll(visits, { timeout: 10_000 }).toMatchObject([{ status: 'paused' }])
    await dead.signal('SIGKILL')
    const next = await worker()
    const second = await session.send('model 0 after')
    for (let sweeps = 0; sweeps < 3; sweeps++) await runtime.sweep()
    expect((await visits()).map(({ status }) => status)).toContain('paused')
    expect(await first.status()).toBe('running')
    expect(next.said.filter(({ tool }) => tool !== undefined)).toEqual([])

    const paused = await restate().query(`select id, target_service_key from sys_invocation where status = 'paused'`)
    expect(paused).toEqual([{ id: visit?.['id'], target_service_key: 'room:paused' }])
    await restate().resume(String(paused[0]?.['id']))
    await next.until(({ tool }) => tool === 'look')
    await first.stop()
    expect(await first.result()).toMatchObject({ status: 'aborted' })
    expect(await second.result()).toMatchObject({ status: 'completed', text: 'answer to model 0 after' })
    await expect.poll(visits, { timeout: 10_000 }).toEqual([])
    expect(next.said.filter(({ tool }) => tool === 'look')).toHaveLength(1)
    expect(next.said.filter(({ model }) => model === 'model 0 after')).toHaveLength(1)
  })
})
