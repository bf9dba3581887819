import type { Plan } from '../programs/program.ts'

/**
 * A simulation: what clients do with several processes over one store, and what goes wrong meanwhile. It is plain data, so that
 * a failing one can be shrunk and printed.
 */
export interface Simulation {
  /** Decides how long messages take, which hints are lost, and what else is random while the simulation runs. */
  readonly seed: number
  /** One for each process: by how many milliseconds its clock differs from that of the store. */
  readonly clocks: readonly number[]
  /** The share of hints that are lost, from 0 to 1. */
  readonly lostHints: number
  /** Notify a process some time after it has lost hints. Default: lost hints are silent. */
  readonly tellsLosses?: true
  /** How long a model call takes. */
  readonly modelMs: number
  /** How long it takes until each piece of an answer. Default 0: an answer comes as a whole. */
  readonly deltaMs?: number
  /** Runs at once of one tenant, in all processes together. Default: no limit. */
  readonly maxRunsPerTenant?: number
  readonly steps: readonly SimulationStep[]
  readonly disturbances: readonly Disturbance[]
}

/** The number of a process; those that take its place have it too. */
type Place = number

/** Key of a session in a simulation. The first part of some names a tenant. */
export type SimulationSession = 'a' | 'b' | 'c' | 'tenant:x:1' | 'tenant:x:2' | 'tenant:x:3' | 'tenant:y:1'

/** One action of a client. Times are in milliseconds. */
export type SimulationStep = {
  /** How long after the step before. */
  readonly afterMs: number
  /** The process that the client asks first. */
  readonly at: Place
  readonly to: SimulationSession
} & (
  | {
      readonly do: 'send' | 'steer' | 'follow-up'
      /** Inputs with equal names are sent under one id. */
      readonly name: string
      readonly plan?: Plan
      /** The process at which a client reads the session when the input is acknowledged. */
      readonly thenReadAt?: Place
    }
  | { readonly do: 'stop' | 'read' }
  /** A client reads what happens until the simulation is over. When its process dies it goes on at another one. */
  | { readonly do: 'follow' }
)

/**
 * What goes wrong at the n-th operation of the store, counted over all processes. `kill`: the process dies before the operation
 * leaves it, or (`-behind`) when the store has done it. `pause`: it stands still for `ms` instead. `lost`: the operation, or its
 * answer, is lost on its way. `slow`: it, or its answer, takes `ms` longer. `cut`: for `ms` the process cannot reach the store.
 * `outage`: for `ms` no process can.
 */
export interface Disturbance {
  readonly at: number
  readonly how: DisturbanceKind
  readonly ms?: number
}

export const disturbanceKinds = ['kill', 'kill-behind', 'pause', 'pause-behind', 'lost', 'lost-behind', 'slow', 'slow-behind', 'cut', 'outage'] as const
/** Kind of a disturbance, as `Disturbance` explains them. */
export type DisturbanceKind = (typeof disturbanceKinds)[number]
