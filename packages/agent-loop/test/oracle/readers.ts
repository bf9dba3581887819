import type { AgentEvent, AgentRun } from '../../src/index.ts'
import type { RoundPlan } from '../fuzz/scenarios.ts'
import type { OracleWorld } from './oracle-world.ts'
import { showOnce } from './trace.ts'

interface Round {
  readonly plan: RoundPlan
  readonly place: number
}

/** Reads a run as its driver and beside it, and notes what is read. The promise settles when all readers have ended. */
export function readEvents(world: OracleWorld, { plan: { mode, driver }, place }: Round, run: AgentRun): Promise<unknown> {
  const leavesBehind = mode === 'live' ? undefined : driver.leavesBehind
  return Promise.all([
    // The first reader drives a synchronized run.
    read(world, `first reader of run ${place}`, run, { pauseMs: driver.pauseMs, leavesBehind }),
    read(world, `reader of run ${place}`, run.events(), { pauseMs: 0 }),
    read(world, `reader of run ${place} without deltas`, run.events({ deltas: false }), { pauseMs: world.extras.timed ? 7 : 0 }),
  ])
}

interface Reading {
  readonly pauseMs: number
  readonly leavesBehind?: number | undefined
}

async function read(world: OracleWorld, name: string, source: AsyncIterable<AgentEvent>, { pauseMs, leavesBehind = Infinity }: Reading): Promise<void> {
  let seen = 0
  for await (const event of source) {
    // Which deltas a reader sees of what has ended at the same time is left open.
    if (!world.extras.timed && !('seq' in event)) continue
    world.trace.add(name, showOnce(event))
    // Nothing else is due at the same time.
    if (pauseMs > 0) await world.sleep(pauseMs + 0.000_488_281_25)
    if (++seen <= leavesBehind) continue
    world.trace.reached('driver leaves')
    return
  }
}
