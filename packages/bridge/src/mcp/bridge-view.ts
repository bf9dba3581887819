import type { JSONObject, RuntimeParams } from '@bowline/llm'
import { agentsKey } from '../agent-directory.ts'
import type { Bridge, BridgeRun, CancelInput, DelegateInput, OwnerOption, PromptInput } from '../bridge-contract.ts'
import { invalidInput } from '../input/issues.ts'
import { Reach } from './reach.ts'

/** The caller of a bridge over MCP, with the agents that it may use. */
export interface BridgeUser {
  /** Default: `local`, as in the bridge. */
  readonly owner?: string
  /** Agents for which it returns false are invisible, as are their sessions. Default: all agents are visible. */
  readonly mayUse?: (agentId: string) => boolean
  /** Fields of `runtimeParams` that the user may set. Default: all. */
  readonly runtimeParams?: readonly string[]
}

type Plain =
  | ('clock' | 'limits' | 'health' | 'discover' | 'refresh' | 'onAgentsChanged')
  | ('createSession' | 'session' | 'sessions' | 'request' | 'requests' | 'cancel' | 'close')

/** A bridge as one user sees it: each call is made as that user. It cannot start or stop the bridge. */
export interface BridgeView extends Pick<Bridge, Plain> {
  prompt(input: PromptInput): Promise<BridgeRun>
  delegate(input: DelegateInput): Promise<BridgeRun>
}

export function bridgeView(bridge: Bridge, user: BridgeUser): BridgeView {
  const mine: OwnerOption = { owner: user.owner ?? 'local' }
  const reach = user.mayUse && new Reach(bridge, mine, user.mayUse)
  const ownerFor = async (input: CancelInput): Promise<OwnerOption> => (reach ? reach.ownerFor(input) : mine)
  const chosen = <T extends AgentChoice>(input: T): T => (reach ? { ...input, agentId: reach.chosen(input.agentId) } : input)
  const discover: BridgeView['discover'] = (query) => (reach ?? bridge).discover({ ...query, ...mine })
  return {
    clock: bridge.clock,
    limits: bridge.limits,
    health: () => (reach ? reach.health() : bridge.health(mine)),
    discover,
    refresh: () => bridge.refresh(),
    /** Calls the listener only if this user sees the change. */
    onAgentsChanged(listener) {
      let seen = agentsKey(discover())
      return bridge.onAgentsChanged(() => {
        const now = agentsKey(discover())
        if (now === seen) return
        seen = now
        listener()
      })
    },
    async createSession(input = {}) {
      checkParams(input, user)
      const { resumeSessionId, agentId } = input
      // A resumed session keeps its agent.
      const choice = resumeSessionId !== undefined && agentId === undefined ? input : chosen(input)
      const asked = resumeSessionId === undefined ? mine : await ownerFor({ sessionId: resumeSessionId })
      return bridge.createSession({ ...choice, ...asked })
    },
    async prompt(input) {
      checkParams(input, user)
      return bridge.prompt({ ...input, ...(await ownerFor({ sessionId: input.sessionId })) })
    },
    async delegate(input) {
      checkParams(input, user)
      return bridge.delegate({ ...chosen(input), ...mine })
    },
    session: async (sessionId) => bridge.session(sessionId, await ownerFor({ sessionId })),
    async sessions(filter) {
      const page = await bridge.sessions({ ...filter, ...mine })
      return reach ? { ...page, sessions: reach.within(page.sessions) } : page
    },
    async requests(filter) {
      const page = await bridge.requests({ ...filter, ...mine })
      return reach ? { ...page, requests: reach.within(page.requests) } : page
    },
    request: async (requestId, options) => bridge.request(requestId, { ...options, ...(await ownerFor({ requestId })) }),
    cancel: async (input) => bridge.cancel({ ...input, ...(await ownerFor(input)) }),
    close: async (input) => bridge.close({ ...input, ...(await ownerFor({ sessionId: input.sessionId })) }),
  }
}

interface AgentChoice {
  readonly agentId?: string
}

interface GivenParams {
  readonly runtimeParams?: RuntimeParams
  readonly metadata?: JSONObject
}

/** Agents may also take params from the session metadata. */
function checkParams({ runtimeParams, metadata }: GivenParams, { runtimeParams: allowed }: BridgeUser): void {
  if (!allowed) return
  const refused = [
    ...otherKeys(runtimeParams, allowed).map((name) => `runtimeParams.${name}`),
    ...otherKeys(metadata?.['runtimeParams'], allowed).map((name) => `metadata.runtimeParams.${name}`),
  ]
  if (refused.length > 0) throw invalidInput(refused.map((path) => ({ path, message: 'may not be set here' })))
}

function otherKeys(given: unknown, allowed: readonly string[]): readonly string[] {
  if (typeof given !== 'object' || given === null) return []
  return Object.keys(given).filter((name) => !allowed.includes(name))
}
