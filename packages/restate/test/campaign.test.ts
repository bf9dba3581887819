import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkEvents } from '@bowline/testing'
import { createRuntime, type Runtime } from '@bowline/sessions'
import { defineAgent } from '@bowline/agent-loop'
import { scriptedModel } from '@bowline/llm/testing'
import { postgresStore } from '@bowline/postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/src/crash-kit/seeded-random.ts'
import { checkHistory } from '../../sessions/test/explorers/history/check-history.ts'
import { historyFile } from '../../sessions/test/explorers/history/history-file.ts'
import { readHistory } from '../../sessions/test/explorers/history/read-history.ts'
import { recordHistory } from '../../sessions/test/explorers/history/record-history.ts'
import { startPostgres, type PostgresServer } from '../../../scripts/postgres.ts'
import { isRestateMissing, sharedRestate, startBalancer, titleWithRestate, type RestateServer } from '../../../scripts/restate.ts'
import { rounds, testSeed } from '../../../scripts/test-length.ts'
import { sessionsAt, type RemoteSessions } from '../src/index.ts'
import { allKeys, brokenFamilies, differingReaders, misplacedInputs, readLogs, type Acknowledged } from './campaign-log.ts'
import { readers, workers, type Worker } from './workers.ts'

const size = rounds({ short: { inputs: 40, sessions: 8, strikes: 3 }, long: { inputs: 1000, sessions: 50, strikes: 28 } })
const lease = { ttlMs: 2_000, heartbeatMs: 500 }
const words = ['look', 'pay', 'model', 'help'] as const
/** A worker that froze for longer than its lease is another one's when it wakes, and Restate finds all connections silent. */
const frozenMs = 4_000
const frozenRestateMs = 2_500
const pausedMs = 1_000

const strikes = [
  ...(['kill a worker', 'kill Restate', 'freeze a worker', 'pause an invocation'] as const),
  ...(['restart Postgres', 'freeze Restate', 'kill all'] as const),
]
type Strike = (typeof strikes)[number]

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

describe.skipIf(isRestateMissing)(titleWithRestate('a campaign of kills on Restate, over three workers behind a balancer'), () => {
  const restate = sharedRestate()
  const startWorker = workers()
  const startReader = readers()
  let folder: string
  let postgres: PostgresServer
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'bowline-campaign-'))
    postgres = await startPostgres()
  })
  afterAll(async () => {
    rmSync(folder, { recursive: true })
    await postgres.stop()
  })

  it(`${size.inputs} inputs to ${size.sessions} sessions over ${size.strikes} strikes: none is lost, none is doubled, and readers see each event once (seed ${testSeed})`, async () => {
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
    const histories: string[] = []
    let storeWasAway: readonly { readonly from: number; readonly to: number }[] = []
    const newHistory = (): string => {
      histories.push(join(folder, `${histories.length}.jsonl`))
      return histories.at(-1) ?? ''
    }
    const enlist = async (): Promise<void> => {
      const worker = await startWorker({ ...options, history: newHistory() })
      living.push(worker)
      all.push(worker)
      balancer.use(...living.map(({ port }) => port))
    }
    for (let count = 0; count < 3; count++) await enlist()
    await restate().register(balancer.url)
    const runtime = createRuntime({
      agents: [defineAgent({ name: 'assistant', model: scriptedModel([]) })],
      store: postgresStore({ connectionString: postgres.url, poolSize: 4 }),
      placement: 'host',
      timers: false,
      onWake: () => undefined,
    })
    const reader = startReader({ connectionString: postgres.url, leavesAfter: 20 })

    const recorder = recordHistory({ process: 'clients', write: historyFile(newHistory()).write })
    const client = sessionsAt({ url: restate().url, name: 'campaign' })
    const remote = recorder.runtime({ namespace: 'default', session: client.session } as unknown as Runtime) as unknown as RemoteSessions
    const acknowledged: Acknowledged[] = []
    const stopped = new Set<string>()
    const command = async (number: number): Promise<void> => {
      const place = number % size.sessions
      const key = `tenant:t${place % 3}:s:${place}`
      const method = number % 11 === 5 ? 'steer' : 'send'
      const word = method === 'steer' ? 'note' : number % 20 === 4 ? 'deep' : (words[number % words.length] ?? 'look')
      const text = `${word} ${Math.floor(random() * 60)} i${number}`
      const calledAt = performance.now()
      const { runId, accepted } = await persistently(() => remote.session(key)[method](text, { id: `i${number}` }))
      acknowledged.push({ key, inputId: `i${number}`, word, runId, accepted, calledAt, answeredAt: performance.now() })
      if (number % 13 !== 6) return
      stopped.add(runId)
      await persistently(() => remote.session(key).stop({ runId }))
    }
    const loseWorker = (): Worker | undefined => {
      const [worker] = living.splice(Math.floor(random() * living.length), 1)
      if (worker) struck.add(worker)
      return worker
    }
    const strike = async (kind: Strike): Promise<void> => {
      const from = Date.now()
      switch (kind) {
        case 'kill a worker':
          await loseWorker()?.signal('SIGKILL')
          return enlist()
        case 'freeze a worker': {
          const worker = loseWorker()
          await worker?.signal('SIGSTOP')
          setTimeout(() => void worker?.signal('SIGCONT'), frozenMs)
          return enlist()
        }
        case 'kill Restate':
          await restate().kill()
          return restate().start()
        case 'freeze Restate':
          restate().freeze()
          await wait(frozenRestateMs)
          return restate().thaw()
        case 'pause an invocation':
          await pauseOne(restate())
          await wait(pausedMs)
          return resumeAll(restate())
        case 'restart Postgres':
        case 'kill all': {
          const isAll = kind === 'kill all'
          if (isAll) await Promise.all([restate().kill(), loseWorker()?.signal('SIGKILL')])
          await postgres.restart()
          storeWasAway = [...storeWasAway, { from, to: Date.now() + 2 * lease.ttlMs }]
          if (isAll) await Promise.all([restate().start(), enlist()])
        }
      }
    }

    const inputs = Array.from({ length: size.inputs }, (_, number) => number)
    const lanes = Array.from({ length: 8 }, async (_, lane) => {
      for (const number of inputs.filter((each) => each % 8 === lane)) await command(number)
    })
    for (let number = 0; number < size.strikes; number++) {
      await wait(200 + random() * 600)
      await strike(strikes[(number + testSeed) % strikes.length] ?? 'kill a worker')
    }
    await Promise.all(lanes)

    const decisions = await settle(runtime, remote)
    const logs = await readLogs(runtime)
    await expect.poll(() => differingReaders(reader.said, logs), { timeout: 10_000 }).toEqual([])
    expect(reader.said.some(({ event }) => event?.type === 'text-delta' && !event.catchUp)).toBe(true)
    expect(misplacedInputs(acknowledged, logs)).toEqual([])
    for (const events of logs.values()) expect(checkEvents(events)).toEqual([])

    const runs = await allRuns(runtime)
    expect(acknowledged.length).toBe(size.inputs)
    // The runs of subagents are stopped with the run that called them, and their ids begin with its id.
    const wanted = (runId: string): readonly string[] => (stopped.has(runId.split('/')[0] ?? '') ? ['completed', 'stopped'] : ['completed'])
    expect(runs.filter(({ runId, status }) => !wanted(runId).includes(status)).map(({ runId, status }) => `${runId} ${status}`)).toEqual([])

    const said = all.flatMap((worker) => worker.said)
    const payments = said.flatMap(({ tool, id }) => (tool === 'pay' && id !== undefined ? [id] : []))
    expect(payments.length).toBe(new Set(payments).size)
    const families = acknowledged.filter(({ word, runId }) => word === 'deep' && !stopped.has(runId))
    expect(brokenFamilies(families, logs, payments)).toEqual([])
    // The outcome of a call may be lost with its worker, or be stored too late if the store is away. No other call is in doubt.
    const stored = all
      .filter((worker) => !struck.has(worker))
      .flatMap((worker) => worker.said.filter(({ did }) => did === 'pay'))
      .filter(({ at }) => !storeWasAway.some(({ from, to }) => at > from - lease.ttlMs && at < to))
    expect(decisions.filter((decided) => stored.some(({ id }) => id === decided))).toEqual([])
    expect(await restate().query(`select count(*) as n from sys_invocation where status = 'paused'`)).toEqual([{ n: 0 }])
    const history = readHistory(histories.map((path) => readFileSync(path, 'utf8')))
    expect(checkHistory(history, { atRest: true }).problems.map(({ text }) => text)).toEqual([])
    await runtime.stop()
    await balancer.close()
  }, 600_000)
})

/** Sends again under the same id while Restate or Postgres is away. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'store-unavailable') throw error
    }
  }
}

/** Pauses a visit in progress, if there is one. */
async function pauseOne(restate: RestateServer): Promise<void> {
  const running = `select id from sys_invocation where target_handler_name = 'work' and status = 'running'`
  const [visit] = await restate.query(`${running} order by id limit 1`)
  if (!visit) return
  await restate.pause(String(visit['id']))
  // It may also end before it is paused.
  while ((await restate.query(`${running} and id = '${String(visit['id'])}'`)).length > 0) await wait(50)
}

async function resumeAll(restate: RestateServer): Promise<void> {
  for (const { id } of await restate.query(`select id from sys_invocation where status = 'paused'`)) await restate.resume(String(id))
}

const settleMs = rounds({ short: 120_000, long: 300_000 })

/** Waits until no run is open, and decides calls in doubt. Resolves with their ids. */
async function settle(runtime: Runtime, remote: RemoteSessions): Promise<readonly string[]> {
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
    await wait(200)
  }
}

async function allRuns(runtime: Runtime) {
  const keys = await allKeys(runtime)
  const pages = await Promise.all(keys.map(async (key) => (await runtime.reader(key).runs({ limit: 1000 })).items))
  return pages.flat()
}
