import type { ListedAgent } from '../agent-directory.ts'
import type { Bridge } from '../bridge.ts'
import { BridgeError } from '../errors.ts'

/** Who uses a bridge over MCP, and which of its agents. */
export interface BridgeUser {
  /** Default: the bridge's own, `local`. */
  readonly owner?: string
  /** Agents for which this is false are not there. Default: all are. */
  readonly mayUse?: (agentId: string) => boolean
}

/** What a bridge is to one of its users. */
export function bridgeView(bridge: Bridge, { owner, mayUse = () => true }: BridgeUser): Bridge {
  const usable = (agents: readonly ListedAgent[]): readonly ListedAgent[] => agents.filter(({ id }) => mayUse(id))
  const chosen = (given: string | undefined): string | undefined => {
    const agents = bridge.discover()
    const agentId = given ?? agents.find((agent) => agent.default)?.id
    if (agentId === undefined || mayUse(agentId)) return given
    const first = given === undefined ? usable(agents)[0] : undefined
    if (first) return first.id
    throw new BridgeError('NOT_FOUND', `No agent ${agentId}`, { details: { agentId } })
  }
  return {
    start: () => bridge.start(),
    stop: (options) => bridge.stop(options),
    health: () => bridge.health(),
    discover: (query) => usable(bridge.discover(query)),
    delegate(input) {
      const agentId = chosen(input.agentId)
      return bridge.delegate({ ...input, ...(agentId !== undefined && { agentId }), ...(owner !== undefined && { owner }) })
    },
  }
}
