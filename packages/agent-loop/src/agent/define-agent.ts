import type { Agent } from '../contract/agent.ts'
import type { AgentOptions } from '../contract/options.ts'
import { agentOf, spawnChildIn } from './agent.ts'
import { makeDefinition } from './make-definition.ts'

/** Throws `invalid-config` that names the option at fault. */
export function defineAgent(options: AgentOptions): Agent {
  return agentOf(makeDefinition(options, spawnChildIn))
}
