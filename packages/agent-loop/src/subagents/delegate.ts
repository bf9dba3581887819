import type { Turn } from '../loop/turn.ts'
import type { Call } from '../tools/call.ts'
import type { Execution, Reporter } from '../tools/execute.ts'

/** How a delegate call hands its work on. Must not reject for what becomes of the work. */
export type Delegate = (turn: Turn, call: Call, wires: DelegateWires) => Promise<DelegateEnding>

export interface DelegateWires {
  /** Aborted when the run is stopped or the call is out of time. */
  readonly abortSignal: AbortSignal
  readonly reporter: Reporter
}

type Without<Each> = Each extends unknown ? Omit<Each, 'timedOut'> : never
export type DelegateEnding = Without<Extract<Execution, { kind: 'returned' | 'threw' | 'suspended' }>>
