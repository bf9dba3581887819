import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel, type Script } from '@bowline/llm/testing'
import { createRuntime, type Runtime, type WorkOptions, type WorkReport } from '@bowline/sessions'
import { postgresStore } from '@bowline/postgres'
import { QueueEvents } from 'bullmq'
import { describe, expect, it, onTestFinished } from 'vitest'
import { testDatabase } from '../../scripts/postgres.ts'
import { isRedisMissing, sharedRedis, titleWithRedis } from '../../scripts/redis.ts'
import { bullHost, type BullHost } from '../own-host/host.ts'
import { start, type Program } from './start.ts'

const database = testDatabase()
const redis = sharedRedis()
const question = '[worker] asks for the price of a lamp; the answer takes two seconds (kill me now)'

/** Until then no runtime sweeps, which would wake a session whose wake was lost. */
const beforeSweepMs = 30_000

function program(args: readonly string[] = [], frozenAfterMs = 30_000): Program {
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, FROZEN_AFTER_MS: String(frozenAfterMs) }
  return start('own-host/main.ts', { arguments: args, env })
}

/** Starts workers and a client. Resolves when one of the workers executes the tool. */
async function atWork(key: string, workers = 2): Promise<{ readonly client: Program; readonly busy: Program; readonly idle: Program[] }> {
  const all = Array.from({ length: workers }, () => program(['work'], 2_000))
  const client = program(['send', key, 'Buy a lamp'])
  const busy = await nextAtWork(all)
  return { client, busy, idle: all.filter((worker) => worker !== busy) }
}

/** Resolves with the first of these workers that executes the tool. */
function nextAtWork(workers: readonly Program[]): Promise<Program> {
  return Promise.race(workers.map((worker) => worker.printed(question).then(() => worker)))
}

const answered = (key: string) => ({ lines: [`${key}: completed: A lamp costs 80.`], faults: '', code: 0 })

async function ended(...workers: readonly Program[]): Promise<void> {
  for (const worker of workers) worker.process.kill('SIGTERM')
  for (const worker of workers) expect(await worker.end()).toMatchObject({ code: 0 })
}

interface Member {
  readonly runtime: Runtime
  readonly host: BullHost
}

interface MemberOptions {
  /** Default: counts the inputs of the session. */
  readonly steps?: Script
  readonly around?: (work: () => Promise<WorkReport>) => Promise<WorkReport>
}

const countInputs: Script = ({ prompt }) => ({ text: `answer ${prompt.filter(({ role }) => role === 'user').length}` })

/** Creates a process of the program with this name, in which nothing but the host wakes a session. */
async function member(name: string, { steps = countInputs, around = (work) => work() }: MemberOptions = {}): Promise<Member> {
  const runtime = createRuntime({
    agents: [defineAgent({ name: 'assistant', model: scriptedModel(steps) })],
    store: postgresStore({ connectionString: database.url, poolSize: 4 }),
    namespace: name,
    placement: 'host',
    timers: false,
  })
  const watched = new Proxy(runtime, {
    get(target, property) {
      if (property === 'work') return (key: string, options: WorkOptions) => around(() => target.work(key, options))
      const value: unknown = Reflect.get(target, property)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const host = bullHost(watched, { connection: { url: redis.url }, name, frozenAfterMs: 4_000 })
  await runtime.start()
  onTestFinished(() => host.stop())
  return { runtime, host }
}

describe.skipIf(isRedisMissing)(titleWithRedis('own-host'), () => {
  it('the run of a killed worker goes on in another one, as often as workers are killed', async () => {
    const events = new QueueEvents('sessions', { connection: { url: redis.url } })
    onTestFinished(() => events.close())
    const ends: string[] = []
    events.on('stalled', () => ends.push('stalled')).on('failed', ({ failedReason }) => ends.push(failedReason))
    await events.waitUntilReady()
    const { client, busy: first, idle } = await atWork('order:2', 3)
    first.process.kill('SIGKILL')
    const second = await nextAtWork(idle)
    second.process.kill('SIGKILL')
    expect(await client.end()).toEqual(answered('order:2'))
    await ended(...idle.filter((worker) => worker !== second))
    expect(new Set(ends)).toEqual(new Set(['stalled']))
  })

  it('a frozen worker loses its run, and does no harm when it wakes', { timeout: beforeSweepMs }, async () => {
    const { client, busy, idle } = await atWork('order:3')
    busy.process.kill('SIGSTOP')
    await nextAtWork(idle)
    busy.process.kill('SIGCONT')
    expect(await client.end()).toEqual(answered('order:3'))
    expect(await program(['send', 'order:3', 'And another one']).end()).toEqual(answered('order:3'))
    await ended(busy, ...idle)
  })

  it('a worker that is told to end finishes its tool and gives the run to another one', { timeout: beforeSweepMs }, async () => {
    const { client, busy, idle } = await atWork('order:4')
    await ended(busy)
    expect(await client.end()).toEqual(answered('order:4'))
    await ended(...idle)
  })

  // Not before the tests above: its worker looks for silent ones seldom, and BullMQ lets others wait as long.
  it('one command does the work, and ends', async () => {
    const { lines, ...end } = answered('order:1')
    expect(await program().end()).toEqual({ ...end, lines: [question, ...lines] })
  })

  it('an input that another process stores after the last look of a visit is not lost', async () => {
    const [looked, stored] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const worker = await member('during', {
      // The job is active until the input is stored, and has seen nothing of it.
      around: async (work) => {
        const report = await work()
        looked.resolve()
        await stored.promise
        return report
      },
    })
    worker.host.work()
    const client = await member('during')
    const session = client.runtime.session('room:1')
    const one = await session.send('one')
    await looked.promise
    const two = await session.send('two')
    stored.resolve()
    expect(await Promise.all([one.result(), two.result()])).toMatchObject([{ text: 'answer 1' }, { text: 'answer 2' }])
  })

  it('a delayed input comes at its time, and delays no other session', async () => {
    const worker = await member('delayed')
    worker.host.work()
    const client = await member('delayed')
    const session = client.runtime.session('room:1')
    const at = Date.now() + 1_500
    const later = await session.send('later', { notBefore: at })
    expect(await (await client.runtime.session('room:2').send('now')).result()).toMatchObject({ text: 'answer 1' })
    expect(await later.status()).toBe('queued')
    expect(await later.result()).toMatchObject({ status: 'completed', text: 'answer 1' })
    const [run] = (await session.runs()).items
    expect(run?.startedAt).toBeGreaterThanOrEqual(at)
  })

  it('two workers never work on a session at once', async () => {
    let atWork = 0
    let most = 0
    const steps: Script = async () => {
      most = Math.max(most, ++atWork)
      await new Promise((resolve) => setTimeout(resolve, 5))
      atWork -= 1
      return { text: 'done' }
    }
    const [one, two] = [await member('alone', { steps }), await member('alone', { steps })]
    for (const { host } of [one, two]) host.work()
    const session = one.runtime.session('room:1')
    const runs = await Promise.all(Array.from({ length: 20 }, (_, place) => session.send(`input ${place}`)))
    for (const run of runs) expect(await run.result()).toMatchObject({ status: 'completed' })
    expect(most).toBe(1)
  })
})
