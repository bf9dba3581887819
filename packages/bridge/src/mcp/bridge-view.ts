import type { ListedAgent } from '../agent-directory.ts'
import type { Bridge } from '../bridge-contract.ts'
import { invalidInput } from '../input/schemas.ts'
import { BridgeError } from '../errors.ts'

/** Who uses a bridge over MCP, and which of its agents. */
export interface BridgeUser {
  /** Default: the bridge's own, `local`. */
  readonly owner?: string
  /** Agents for which this is false are not there. Default: all are. */
  readonly mayUse?: (agentId: string) => boolean
  /** The fields of `runtimeParams` that it may set. Default: all. */
  readonly runtimeParams?: readonly string[]
}

/** What a bridge is to one of its users. */
export function bridgeView(bridge: Bridge, { owner, mayUse = () => true, runtimeParams }: BridgeUser): Pick<Bridge, 'discover' | 'delegate'> {
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
    discover: (query) => usable(bridge.discover(query)),
    delegate(input) {
      if (runtimeParams) checkParams(input.runtimeParams ?? {}, runtimeParams)
      const agentId = chosen(input.agentId)
      return bridge.delegate({ ...input, ...(agentId !== undefined && { agentId }), ...(owner !== undefined && { owner }) })
    },
  }
}

function checkParams(given: object, allowed: readonly string[]): void {
  const refused = Object.keys(given).filter((name) => !allowed.includes(name))
  if (refused.length === 0) return
  throw invalidInput(refused.map((name) => ({ path: `runtimeParams.${name}`, message: 'may not be set here' })))
}
