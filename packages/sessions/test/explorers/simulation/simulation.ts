import type { Plan } from '../programs/program.ts'

/**
 * A simulation: actions of clients on several processes over one store, and disturbances meanwhile. It is plain data, so that a
 * failing one can be shrunk and printed.
 */
export interface Simulation {
  /** Seed for the delays of messages, the lost hints, and all other random choices during the run. */
  readonly seed: number
  /** One number per process: the difference in ms between its clock and that of the store. */
  readonly clocks: readonly number[]
  /** Share of hints that are lost, from 0 to 1. */
  readonly lostHints: number
  /** True: a process is notified some time after it has lost hints. Default: lost hints are silent. */
  readonly tellsLosses?: true
  /** Duration of a model call in ms. */
  readonly modelMs: number
  /** Delay in ms before each delta of an answer. Default 0: an answer comes in one piece. */
  readonly deltaMs?: number
  /** Limit of concurrent runs of one tenant, over all processes. Default: no limit. */
  readonly maxRunsPerTenant?: number
  readonly steps: readonly SimulationStep[]
  readonly disturbances: readonly Disturbance[]
}

/** Number of a process. Its replacements have the same number. */
type Place = number

/** Key of a session in a simulation. The first part of some names a tenant. */
export type SimulationSession = 'a' | 'b' | 'c' | 'tenant:x:1' | 'tenant:x:2' | 'tenant:x:3' | 'tenant:y:1'

/** One action of a client. Times are in milliseconds. */
export type SimulationStep = {
  /** Delay in ms after the previous step. */
  readonly afterMs: number
  /** Process that the client asks first. */
  readonly at: Place
  readonly to: SimulationSession
} & (
  | {
      readonly do: 'send' | 'steer' | 'follow-up'
      /** Inputs with equal names are sent under one id. */
      readonly name: string
      readonly plan?: Plan
      /** Process at which the client reads the session after the input is acknowledged. */
      readonly thenReadAt?: Place
    }
  | { readonly do: 'stop' | 'read' }
  /** Follows the session until the simulation ends. If its process dies, the client continues at another one. */
  | { readonly do: 'follow' }
)

/**
 * A disturbance at the n-th operation of the store, counted over all processes. `kill`: the process dies before it sends the
 * operation; `kill-after`: after the store has executed it. `pause` and `pause-after`: the process stops for `ms` instead.
 * `lost`: the operation is lost; `lost-after`: its answer is lost. `slow`: the operation is delayed by `ms`; `slow-after`: its
 * answer is delayed. `cut`: the process cannot reach the store for `ms`. `outage`: no process can reach it for `ms`.
 */
export interface Disturbance {
  readonly at: number
  readonly how: DisturbanceKind
  readonly ms?: number
}

export const disturbanceKinds = [
  'kill',
  'kill-after',
  'pause',
  'pause-after',
  'lost',
  'lost-after',
  'slow',
  'slow-after',
  'cut',
  'outage',
] as const
/** Kind of a disturbance, as `Disturbance` explains them. */
export type DisturbanceKind = (typeof disturbanceKinds)[number]
