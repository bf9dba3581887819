import type { Agent } from '../agent/options.ts'
import { refuseConfig } from '../agent/check-options.ts'
import type { Tool } from '../tools/tool.ts'

/** One tool per subagent. Throws `invalid-config`. */
export function delegateTools(subagents: readonly Agent[]): readonly Tool[] {
  return subagents.map((agent) => refuseConfig(`the subagent ${agent.name ?? ''} cannot be used yet`))
}
