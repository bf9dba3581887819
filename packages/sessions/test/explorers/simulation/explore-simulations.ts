import { drawSimulation } from './draw-simulation.ts'
import { simulationInvariants } from './invariants.ts'
import type { ExploreSimulationsOptions, RunSimulationOptions } from './options.ts'
import { notable, printSimulation } from './print-simulation.ts'
import { runSimulation } from './run-simulation.ts'
import { shrinkSimulation } from './shrink-simulation.ts'
import type { Simulation } from './simulation.ts'

/** Counts and failures of explored simulations. */
export interface SimulationReport {
  /** Number of simulations run, without those tried while shrinking. */
  readonly simulations: number
  /** Number of store operations in all of them. */
  readonly points: number
  readonly failures: readonly SimulationFailure[]
}

/** A failing simulation, shrunk and printed as a test, with its seed. */
export interface SimulationFailure {
  readonly seed: number
  /** The smallest failing simulation found, as a test. */
  readonly simulation: string
  readonly invariant: string
  readonly problems: readonly string[]
  /** The trace in order, without reads. */
  readonly trace: readonly string[]
}

/**
 * Draws random simulations of several processes over one store and runs each until it is at rest. Equal options give equal
 * traces and verdicts.
 */
export async function exploreSimulations(options: ExploreSimulationsOptions): Promise<SimulationReport> {
  const { simulations, seed: first, maxFailures = 10, shrinkTries = 200, ...runOptions } = options
  const failures: SimulationFailure[] = []
  let [ran, points] = [0, 0]
  for (let seed = first; seed < first + simulations && failures.length < maxFailures; seed++) {
    const simulation = drawSimulation(seed)
    const verdict = await runSimulation(simulation, runOptions)
    ran++
    points += verdict.points
    const [failure] = verdict.failures
    if (failure) failures.push(await explain(simulation, failure.invariant, runOptions, shrinkTries))
  }
  return { simulations: ran, points, failures }
}

/** Shrinks the simulation and returns the same failure in the smallest one found. */
async function explain(
  simulation: Simulation,
  invariant: string,
  options: RunSimulationOptions,
  tries: number,
): Promise<SimulationFailure> {
  const broken = (options.invariants ?? simulationInvariants).filter(({ name }) => name === invariant)
  const run = (smaller: Simulation) => runSimulation(smaller, { ...options, invariants: broken })
  const smallest = await shrinkSimulation(simulation, async (smaller) => (await run(smaller)).failures.length > 0, tries)
  const { failures, trace } = await run(smallest)
  return {
    seed: simulation.seed,
    simulation: printSimulation(smallest, invariant),
    invariant,
    problems: failures[0]?.problems ?? [],
    trace: notable(trace),
  }
}
