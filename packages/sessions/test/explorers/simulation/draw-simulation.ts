import { drawFrom, type Draw } from '../programs/draw.ts'
import type { Plan, PlannedAnswer, PlannedCall } from '../programs/program.ts'
import { disturbanceKinds, type Disturbance, type Simulation, type SimulationSession, type SimulationStep } from './simulation.ts'

const mostSteps = 6
const mostDisturbances = 4
/** Durations shorter and longer than a lease. */
const pausesMs = [500, 4_000, 4_000, 8_000] as const
const delaysMs = [300, 1_500, 5_000] as const
const awayMs = [500, 2_500, 6_000] as const
const rooms = ['a', 'a', 'b', 'c'] as const satisfies readonly SimulationSession[]
/** One tenant has more sessions than its limit of runs. */
const tenantRooms = ['tenant:x:1', 'tenant:x:2', 'tenant:x:3', 'tenant:y:1', 'a'] as const satisfies readonly SimulationSession[]

/** Draws one simulation. Equal seeds give equal simulations. */
export function drawSimulation(seed: number): Simulation {
  const draw = drawFrom(seed)
  const processes = draw.oneOf([2, 2, 3, 3, 3, 4])
  const count = 2 + draw.whole(mostSteps - 1)
  const maxRunsPerTenant = draw.chance(0.25) ? draw.oneOf([1, 1, 2]) : undefined
  const deltaMs = draw.chance(0.3) ? draw.oneOf([20, 100, 200]) : undefined
  return {
    seed,
    clocks: draw.times(processes, () => (draw.chance(0.5) ? 0 : draw.oneOf([-30_000, -2_000, 2_000, 30_000]))),
    lostHints: draw.oneOf([0, 0.3, 1]),
    ...(draw.chance(0.5) && { tellsLosses: true as const }),
    // With a limit per tenant, models are slow, so that a busy tenant could block the others.
    modelMs: draw.oneOf(maxRunsPerTenant === undefined ? [0, 200, 4_000] : [200, 4_000, 4_000]),
    ...(deltaMs !== undefined && { deltaMs }),
    ...(maxRunsPerTenant !== undefined && { maxRunsPerTenant }),
    steps: drawSteps(draw, {
      count,
      processes,
      rooms: maxRunsPerTenant === undefined ? rooms : tenantRooms,
      follows: deltaMs !== undefined,
    }),
    disturbances: draw.times(draw.whole(mostDisturbances + 1), () => drawDisturbance(draw, count)).toSorted((a, b) => a.at - b.at),
  }
}

interface StepsOptions {
  readonly count: number
  readonly processes: number
  readonly rooms: readonly SimulationSession[]
  /** True: clients follow the first session. */
  readonly follows: boolean
}

/** Draws the steps. At times a client sends its first input again. */
function drawSteps(draw: Draw, options: StepsOptions): readonly SimulationStep[] {
  const steps = draw.times(options.count, (index) => drawStep(draw, index, options))
  const [first] = steps
  const all = steps.map((step, index) => (first && index > 0 && draw.chance(0.1) ? { ...first, afterMs: step.afterMs, at: step.at } : step))
  if (!options.follows || !first) return all
  const followers = draw.times(1 + draw.whole(2), (): SimulationStep => ({
    afterMs: draw.oneOf([0, 20, 300]),
    at: draw.whole(options.processes),
    to: first.to,
    do: 'follow',
  }))
  return all.toSpliced(draw.whole(2), 0, ...followers)
}

function drawStep(draw: Draw, index: number, { processes, rooms: to }: StepsOptions): SimulationStep {
  const place = { afterMs: draw.oneOf([0, 0, 20, 300, 2_000]), at: draw.whole(processes), to: draw.oneOf(to) }
  const kind = index === 0 ? 'send' : draw.oneOf(['send', 'send', 'send', 'send', 'steer', 'follow-up', 'stop', 'read'] as const)
  if (kind === 'stop' || kind === 'read') return { ...place, do: kind }
  return { ...place, do: kind, name: `in${index}`, plan: drawPlan(draw, 1), ...(draw.chance(0.5) && { thenReadAt: draw.whole(processes) }) }
}

function drawPlan(draw: Draw, below: number): Plan {
  return draw.times(draw.oneOf([0, 0, 1, 1, 2]), (): PlannedAnswer => ({
    calls: draw.times(1 + draw.whole(2), () => drawCall(draw, below)),
  }))
}

function drawCall(draw: Draw, below: number): PlannedCall {
  if (below > 0 && draw.chance(0.2)) return { delegate: drawPlan(draw, below - 1), ...(draw.chance(0.5) && { background: true as const }) }
  return { tool: draw.oneOf(['look', 'pay', 'index'] as const), ...(draw.chance(0.3) && { ms: draw.oneOf([100, 4_000]) }) }
}

/** Draws a disturbance. One after the last operation never happens. */
function drawDisturbance(draw: Draw, steps: number): Disturbance {
  // Pauses are drawn more often, because a process that resumes after a long pause is the hardest case.
  const how = draw.oneOf([...disturbanceKinds, 'pause', 'pause'] as const)
  const at = 1 + draw.whole(draw.oneOf([30, 80, 40 + steps * 30]))
  if (how === 'pause' || how === 'pause-after') return { at, how, ms: draw.oneOf(pausesMs) }
  if (how === 'cut' || how === 'outage') return { at, how, ms: draw.oneOf(awayMs) }
  return how === 'slow' || how === 'slow-after' ? { at, how, ms: draw.oneOf(delaysMs) } : { at, how }
}
