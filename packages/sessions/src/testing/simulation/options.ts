import type { SessionStore } from '../../contract/session-store.ts'
import type { SimulationInvariant } from './simulation-end.ts'
import type { SharedHandle, SharedStoreFaults } from './shared-handle.ts'

/** A mistake that is planted, so that simulations are seen to find it. */
export interface SimulationFault {
  readonly name: string
  /** Called for each simulation. */
  readonly plant: () => PlantedFault
}

export interface PlantedFault {
  /** Between each process and the network. */
  readonly client?: (store: SharedHandle) => SessionStore
  /** In the store that all processes share. Has no effect on a store of your own. */
  readonly shared?: SharedStoreFaults
}

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
