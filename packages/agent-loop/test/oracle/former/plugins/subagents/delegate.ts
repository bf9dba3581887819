import type { Subagent } from '../../contract/agent.ts'
import type { Call } from '../../kernel/call.ts'
import type { ExecutionEnding, Reporter } from '../../kernel/execute.ts'
import type { Turn } from '../../kernel/turn.ts'
import { hostChild } from './host-child.ts'
import { runChild } from './run-child.ts'

export interface DelegateWires {
  /** Aborted when the run is stopped. */
  readonly abortSignal: AbortSignal
  readonly reporter: Reporter
}

/** Hands the work of a call on, or goes on with what was handed on before. Rejects for what keeps it from that. */
export function delegate(turn: Turn, call: Call, subagent: Subagent, wires: DelegateWires): Promise<ExecutionEnding> {
  const { children } = turn.run.journal
  return children ? hostChild(turn, call, { subagent, wires, host: children }) : runChild(turn, call, { subagent, wires })
}
