import { simplerPlans, withoutOne } from '../programs/shrink-program.ts'
import { shrink } from '../shrink.ts'
import type { Simulation, SimulationStep } from './simulation.ts'

/** Returns the smallest simulation found for which `fails` is still true. `tries` limits the number of calls of `fails`. */
export function shrinkSimulation(
  simulation: Simulation,
  fails: (smaller: Simulation) => Promise<boolean>,
  tries: number,
): Promise<Simulation> {
  return shrink(simulation, smallerThan, fails, tries)
}

/** Yields simulations with one part less, the largest parts first. */
function* smallerThan(simulation: Simulation): Generator<Simulation> {
  const { clocks, steps, disturbances, lostHints, modelMs } = simulation
  if (steps.length > 3) yield { ...simulation, steps: steps.slice(0, Math.ceil(steps.length / 2)) }
  for (const fewer of withoutOne(steps)) yield { ...simulation, steps: fewer }
  for (const fewer of withoutOne(disturbances)) yield { ...simulation, disturbances: fewer }
  if (clocks.length > 1) yield { ...simulation, clocks: clocks.slice(0, -1) }
  if (clocks.some((byMs) => byMs !== 0)) yield { ...simulation, clocks: clocks.map(() => 0) }
  if (lostHints > 0) yield { ...simulation, lostHints: 0 }
  if (modelMs > 0) yield { ...simulation, modelMs: 0 }
  for (const name of ['tellsLosses', 'deltaMs', 'maxRunsPerTenant'] as const)
    if (simulation[name] !== undefined) yield without(simulation, name)
  for (const [index, step] of steps.entries()) {
    for (const simpler of simplerSteps(step)) yield { ...simulation, steps: steps.with(index, simpler) }
  }
}

function without(simulation: Simulation, name: 'tellsLosses' | 'deltaMs' | 'maxRunsPerTenant'): Simulation {
  const { [name]: _left, ...rest } = simulation
  return rest
}

function* simplerSteps(step: SimulationStep): Generator<SimulationStep> {
  if (step.afterMs > 0) yield { ...step, afterMs: 0 }
  if (!('name' in step)) return
  if (step.thenReadAt !== undefined) {
    const { thenReadAt: _thenReadAt, ...rest } = step
    yield rest
  }
  if (!step.plan) return
  for (const plan of simplerPlans(step.plan)) yield { ...step, plan }
}
