import type { LoggedEvent } from '../../../src/contract/log-events.ts'
import type { CrashEnd } from '../../../../testing/src/crash-kit/types.ts'
import type { History } from '../history/operations.ts'
import type { Simulation, SimulationSession } from './simulation.ts'

/** Records, clients and effects at the end of a simulation. */
export interface SimulationEnd extends CrashEnd {
  readonly simulation: Simulation
  /** Calls and answers of all processes. */
  readonly history: History
  readonly rests: boolean
  /** Errors that no client should get, and clients that got no answer. */
  readonly surprises: readonly string[]
  /** Errors in the background of a runtime. */
  readonly faults: readonly string[]
  /** Clients that followed a session until the end. */
  readonly followers: readonly FollowerEnd[]
  /** Claims that gave a tenant more concurrent runs than its limit. */
  readonly tenantProblems: readonly string[]
  /** Runs that were taken over while their owner still held the lease. */
  readonly leaseProblems: readonly string[]
  /** Runs that no process claimed in time. */
  readonly waitProblems: readonly string[]
}

/** The events that a client read while it followed a session. */
export interface FollowerEnd {
  readonly session: SimulationSession
  readonly events: readonly LoggedEvent[]
  /** Description of events that the client should not have seen. */
  readonly problems: readonly string[]
}

/** A condition on the end of a simulation. The invariants of scenarios are conditions on simulations too. */
export interface SimulationInvariant {
  readonly name: string
  /** Returns the problems; an empty list means none. */
  readonly check: (end: SimulationEnd) => readonly string[]
}
