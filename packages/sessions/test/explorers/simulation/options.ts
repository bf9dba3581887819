import type { SessionStore } from '../../../src/contract/session-store.ts'
import type { SimulationInvariant } from './simulation-end.ts'
import type { SharedHandle, SharedStoreFaults } from './shared-handle.ts'

/** A planted mistake that proves that simulations detect it. */
export interface SimulationFault {
  readonly name: string
  /** Called for each simulation. */
  readonly plant: () => PlantedFault
}

/** Layers of the store into which a fault is planted. */
export interface PlantedFault {
  /** Wraps the store of each process, on its side of the network. */
  readonly client?: (store: SharedHandle) => SessionStore
  /** Faults of the store that all processes share. No effect on a custom store. */
  readonly shared?: SharedStoreFaults
}

/** Store, planted fault and invariants of `runSimulation`. */
export interface RunSimulationOptions {
  /**
   * Returns an empty store that is not open. All processes share it, so it must support several processes, and it must execute
   * calls without I/O. Default: a memory store with tickets.
   */
  readonly store?: () => SessionStore
  /** Planted fault. Default: none. */
  readonly fault?: SimulationFault
  /** Default: `simulationInvariants`. */
  readonly invariants?: readonly SimulationInvariant[]
}

/** Number, seed and bounds of the simulations to explore. */
export interface ExploreSimulationsOptions extends RunSimulationOptions {
  /** Number of simulations to draw. */
  readonly simulations: number
  /** Seed of the first simulation. Each further one has the next integer. */
  readonly seed: number
  /** Stops after this number of failed simulations. Default 10. */
  readonly maxFailures?: number
  /** Number of smaller simulations to try for each failing one; 0: none. Default 200. */
  readonly shrinkTries?: number
}
