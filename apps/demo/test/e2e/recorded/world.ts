import { createOrchestration, createRuntime } from '@bowline/sessions'
import type { Runtime, Session, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { recordRequests } from '@bowline/sessions/requests'
import { offlineModel } from '../../../src/model/offline-model.ts'
import { createPace } from '../../../src/pace.ts'
import { createDemoAgents } from '../../../src/server/agents.ts'
import { createDemoBridge } from '../../../src/server/demo-bridge.ts'
import { writeReports } from '../../../src/server/reports.ts'
import { sessionKeyOf } from '../../../src/server/session-key.ts'
import { planSteps } from '../../../src/server/tools/plan.ts'
import { manualTime } from '../../manual-time.ts'
import { mortalRuntime } from '../../mortal-runtime.ts'
import { hostileAgent } from './hostile.ts'

/** 14 March 2026, 09:26:53 UTC. */
const beginMs = Date.UTC(2026, 2, 14, 9, 26, 53)
/** Time in ms that the server of a killed run is away. */
const leaseMs = 2000
/** Maximum time of this clock that one wait takes. */
const longestWaitMs = 120_000

/**
 * Creates the agents of the demo with a manual clock and counted ids, so that all logs are reproducible. Starts no process: nothing
 * can be delegated to the worker. `isLoaded`: all code that the sessions need was imported before.
 */
export async function createWorld(dataFolder: string, isLoaded: boolean) {
  await writeReports(dataFolder)
  const time = manualTime(beginMs)
  const { clock } = time
  let count = 0
  const ids = { next: (kind: string) => `${kind}_${String(++count).padStart(6, '0')}` }
  const store = memoryStore()
  const orchestration = createOrchestration({ store, config: planSteps, clock })
  const requests = recordRequests({ store, clock })

  /** Creates one process with all agents. */
  const open = (over: SessionStore): Runtime => {
    const pace = createPace(1, clock)
    const choice = { model: offlineModel({ pace }), spare: offlineModel({ pace, isSpare: true }), offline: true }
    const { tool: delegate } = createDemoBridge(over, 1)
    const agents = createDemoAgents(choice, {
      pace,
      clock,
      dataFolder,
      delegate,
      speed: 1,
      jitter: 0,
      orchestration: orchestration.extension(),
      requests: requests.extension,
    })
    return createRuntime({
      agents: [...agents, hostileAgent(clock)],
      store: over,
      lease: { ttlMs: leaseMs, heartbeatMs: leaseMs / 4 },
      clock,
      ids,
      requests,
    })
  }

  const settle = (): Promise<void> => time.settle({ isLoaded })
  /** Waits for all work in progress. Returns the time to which the clock may advance: the next timer, or `end` if that is earlier. */
  const nextAt = async (end: number): Promise<number> => {
    await settle()
    return Math.ceil(Math.max(clock.now(), Math.min(end, time.nextAt() ?? clock.now())))
  }

  const world = {
    store,
    requests,
    orchestration,
    settle,
    now: () => clock.now(),
    mortal: mortalRuntime(store, open),
    open: () => open(store),
    session: (runtime: Runtime, id: string, title: string, agent?: string): Session =>
      runtime.session(sessionKeyOf(id), { metadata: { title }, ...(agent !== undefined && { agent }) }),
    /** Advances the clock from timer to timer until `done`. */
    async until(done: () => unknown): Promise<void> {
      const last = clock.now() + longestWaitMs
      for (let next = await nextAt(last); !(await done()); next = await nextAt(last)) {
        if (next >= last) throw new Error(`It did not come to ${String(done)} within ${longestWaitMs} ms.`)
        time.advance(next - clock.now())
      }
    },
    /** Advances the clock by this time, from timer to timer. */
    async pass(ms: number): Promise<void> {
      const end = clock.now() + ms
      for (let next = await nextAt(end); clock.now() < end; next = await nextAt(end))
        time.advance(time.nextAt() === undefined ? end - clock.now() : next - clock.now())
      await settle()
    },
  }
  return world
}

export type World = Awaited<ReturnType<typeof createWorld>>
