import type { AgentDefinition } from '../agent/definition.ts'
import type { Agent } from '../agent/options.ts'
import type { Turn } from '../loop/turn.ts'
import type { Call } from '../tools/call.ts'
import type { ExecutionEnding, Reporter } from '../tools/execute.ts'
import { hostChild } from './host-child.ts'
import { runChild } from './run-child.ts'

/** An agent that another one hands work to. */
export interface Subagent {
  readonly name: string
  readonly agent: AgentDefinition
  /** As it was handed in. */
  readonly source: Agent
}

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
