import { checkEvents } from '@bowline/testing'
import { createRuntime, type LoggedEvent, type Runtime } from '@bowline/sessions'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { postgresStore } from '@bowline/postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/src/crash-kit/seeded-random.ts'
import { startPostgres, type PostgresServer } from '../../../scripts/postgres.ts'
import { isRestateMissing, sharedRestate, startBalancer, titleWithRestate } from '../../../scripts/restate.ts'
import { rounds, testSeed } from '../../../scripts/test-length.ts'
import { sessionsAt } from '../src/index.ts'
import { workers, type Worker } from './workers.ts'

const size = rounds({ short: { inputs: 120, sessions: 12, strikes: 6 }, long: { inputs: 1000, sessions: 50, strikes: 20 } })
const lease = { ttlMs: 2_000, heartbeatMs: 500 }
const words = ['look', 'pay', 'model', 'help'] as const
/** A worker that froze for longer than its lease is another one's when it wakes. */
const frozenMs = 4_000

type Strike = 'kill a worker' | 'freeze a worker' | 'kill Restate' | 'restart Postgres' | 'kill both'
const strikes: readonly Strike[] = ['kill a worker', 'kill Restate', 'freeze a worker', 'restart Postgres', 'kill both']

describe.skipIf(isRestateMissing)(titleWithRestate('a campaign of kills on Restate'), () => {
  const restate = sharedRestate()
  const startWorker = workers()
  let postgres: PostgresServer
  beforeAll(async () => void (postgres = await startPostgres()))
  afterAll(() => postgres.stop())

  it(`${size.inputs} inputs to ${size.sessions} sessions over ${size.strikes} strikes: none is lost, none is doubled (seed ${testSeed})`, async () => {
    const random = seededRandom(testSeed)
    const balancer = await startBalancer()
    const options = {
      connectionString: postgres.url,
      url: restate().url,
      name: 'campaign',
      frozenAfterMs: 2_000,
      turnMs: 3_000,
      timers: true,
      lease,
    }
    const living: Worker[] = []
    const all: Worker[] = []
    const struck = new Set<Worker>()
    let storeWasAway: readonly { readonly from: number; readonly to: number }[] = []
    const enlist = async (): Promise<void> => {
      const worker = await startWorker(options)
      living.push(worker)
      all.push(worker)
      balancer.use(...living.map(({ port }) => port))
    }
    for (let count = 0; count < 3; count++) await enlist()
    await restate().register(balancer.url)

    const remote = sessionsAt({ url: restate().url, name: 'campaign' })
    const keyOf = (number: number): string => `tenant:t${number % 3}:s:${number % size.sessions}`
    const send = async (number: number): Promise<void> => {
      const text = `${words[number % words.length]} ${Math.floor(random() * 60)} i${number}`
      for (;;) {
        try {
          await remote.session(keyOf(number)).send(text, { id: `i${number}` })
          return
        } catch (error) {
          // Restate or Postgres is away: the sender tries again under the same id.
          if ((error as { readonly code?: string }).code !== 'store-unavailable') throw error
        }
      }
    }
    const strike = async (kind: Strike): Promise<void> => {
      const from = Date.now()
      if (kind === 'kill Restate' || kind === 'kill both') await restate().kill()
      if (kind === 'restart Postgres' || kind === 'kill both') {
        await postgres.restart()
        storeWasAway = [...storeWasAway, { from, to: Date.now() + 2 * lease.ttlMs }]
      }
      if (kind === 'kill Restate' || kind === 'kill both') await restate().start()
      if (kind !== 'kill a worker' && kind !== 'freeze a worker') return
      const [worker] = living.splice(Math.floor(random() * living.length), 1)
      if (worker) struck.add(worker)
      if (kind === 'kill a worker') {
        await worker?.signal('SIGKILL')
        return enlist()
      }
      await worker?.signal('SIGSTOP')
      setTimeout(() => void worker?.signal('SIGCONT'), frozenMs)
      await enlist()
    }

    const inputs = Array.from({ length: size.inputs }, (_, number) => number)
    const lanes = Array.from({ length: 8 }, async (_, lane) => {
      for (const number of inputs.filter((each) => each % 8 === lane)) await send(number)
    })
    for (let number = 0; number < size.strikes; number++) {
      await new Promise((resolve) => setTimeout(resolve, 500 + random() * 1_000))
      await strike(strikes[number % strikes.length] ?? 'kill a worker')
    }
    await Promise.all(lanes)

    const runtime = createRuntime({
      agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })],
      store: postgresStore({ connectionString: postgres.url, poolSize: 4 }),
      placement: 'host',
      timers: false,
      onWake: () => undefined,
    })
    const decisions = await settle(runtime, remote)
    const runs = await allRuns(runtime)
    expect(runs.filter(({ kind }) => kind === 'user').length).toBe(size.inputs)
    expect(runs.filter(({ status }) => status !== 'completed').map(({ runId, status }) => `${runId} ${status}`)).toEqual([])

    const said = all.flatMap((worker) => worker.said)
    const payments = said.flatMap(({ tool, id }) => (tool === 'pay' && id !== undefined ? [id] : []))
    expect(payments.length).toBe(new Set(payments).size)
    // The outcome of a call may be lost with its worker, or be stored too late if the store is away. No other call is in doubt.
    const stored = all
      .filter((worker) => !struck.has(worker))
      .flatMap((worker) => worker.said.filter(({ did }) => did === 'pay'))
      .filter(({ at }) => !storeWasAway.some(({ from, to }) => at > from - lease.ttlMs && at < to))
    expect(decisions.filter((decided) => stored.some(({ id }) => id === decided))).toEqual([])
    for (const { key } of (await runtime.sessions({ limit: 1000 })).items) {
      const events: LoggedEvent[] = []
      for await (const event of runtime.reader(key).events({ live: false })) events.push(event)
      expect(checkEvents(events)).toEqual([])
    }
    expect(await restate().query(`select count(*) as n from sys_invocation where status = 'paused'`)).toEqual([{ n: 0 }])
    await runtime.stop()
    await balancer.close()
  }, 600_000)
})

const settleMs = 120_000

/** Waits until no run is open, and decides calls in doubt. Resolves with their ids. */
async function settle(runtime: Runtime, remote: ReturnType<typeof sessionsAt>): Promise<readonly string[]> {
  const decided: string[] = []
  for (const untilMs = Date.now() + settleMs; ;) {
    const open = (
      await runtime.sessions({ status: ['queued', 'running', 'waiting-for-retry', 'needs-recovery', 'waiting-for-subagent'], limit: 1000 })
    ).items
    if (open.length === 0) return decided
    if (Date.now() > untilMs) {
      const facts = await Promise.all(open.map(({ key }) => runtime.inspect(key)))
      throw new Error(`Runs are still open:\n${JSON.stringify(facts, undefined, 1)}`)
    }
    for (const { key, status, openRun } of open) {
      if (status !== 'needs-recovery' || key.includes('~')) continue
      for (const call of openRun?.pendingToolCalls ?? []) {
        await remote.session(key).resolveTool(call.toolCallId, { output: 'paid' })
        decided.push(call.toolCallId.slice(2))
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

async function allRuns(runtime: Runtime) {
  const sessions = (await runtime.sessions({ limit: 1000 })).items
  const pages = await Promise.all(sessions.map(async ({ key }) => (await runtime.reader(key).runs({ limit: 1000 })).items))
  return pages.flat()
}
