import type { SessionStore } from '../../contract/session-store.ts'
import type { SimulationInvariant } from './simulation-end.ts'
import type { SharedHandle, SharedStoreFaults } from './shared-handle.ts'

/** A planted mistake that proves that simulations detect it. */
export interface SimulationFault {
  readonly name: string
  /** Called for each simulation. */
  readonly plant: () => PlantedFault
}

/** Layers of the store into which a mistake is planted. */
export interface PlantedFault {
  /** Between each process and the network. */
  readonly client?: (store: SharedHandle) => SessionStore
  /** In the store that all processes share. Has no effect on a store of your own. */
  readonly shared?: SharedStoreFaults
}

/** Store, planted fault and invariants of `runSimulation`. */
export interface RunSimulationOptions {
  /**
   * A store that is not open, over nothing. All processes share it, so it must be one that several may open, and it must do what
   * it is asked for without waiting for the world outside. Default: a memory store with tickets.
   */
  readonly store?: () => SessionStore
  /** A mistake that is planted. Default: none. */
  readonly fault?: SimulationFault
  /** Default: `simulationInvariants`. */
  readonly invariants?: readonly SimulationInvariant[]
}

/** Number, seed and bounds of the simulations to explore. */
export interface ExploreSimulationsOptions extends RunSimulationOptions {
  /** How many simulations are drawn. */
  readonly simulations: number
  /** Seed of the first simulation. Each further one has the next integer. */
  readonly seed: number
  /** Stops when so many simulations have failed. Default 10. */
  readonly maxFailures?: number
  /** How many smaller simulations are tried for each that fails; 0: none. Default 200. */
  readonly shrinkTries?: number
}
