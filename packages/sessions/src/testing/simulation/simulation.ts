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
  /** How long a model call takes. */
  readonly modelMs: number
  readonly steps: readonly SimulationStep[]
  readonly disturbances: readonly Disturbance[]
}

/** The number of a process; those that take its place have it too. */
type Place = number

export type SimulationSession = 'a' | 'b' | 'c'

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
)

/**
 * What goes wrong at the n-th operation of the store, counted over all processes. `kill`: the process dies before the operation
 * leaves it, or (`-behind`) when the store has done it. `pause`: it stands still for `ms` instead. `lost`: the operation, or its
 * answer, is lost on its way. `slow`: it, or its answer, takes `ms` longer.
 */
export interface Disturbance {
  readonly at: number
  readonly how: DisturbanceKind
  readonly ms?: number
}

export const disturbanceKinds = ['kill', 'kill-behind', 'pause', 'pause-behind', 'lost', 'lost-behind', 'slow', 'slow-behind'] as const
export type DisturbanceKind = (typeof disturbanceKinds)[number]
