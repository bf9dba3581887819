import { randomUUID } from 'node:crypto'
import type { ListedAgent } from '../bridge-contract.ts'
import type { Bridge, BridgeHealth, CancelInput, OwnerOption } from '../bridge-contract.ts'
import { BridgeError } from '../errors.ts'
import { missingAgent } from '../missing-agent.ts'

type MayUse = (agentId: string) => boolean

/** The part of a bridge that is visible to a user who may not use all agents. */
export class Reach {
  readonly #bridge: Bridge
  readonly #mine: OwnerOption
  readonly #mayUse: MayUse
  /** An owner that owns nothing. Calls in its name get the same refusals as for unknown ids. */
  readonly #nobody: OwnerOption = { owner: `nobody_${randomUUID()}` }

  constructor(bridge: Bridge, mine: OwnerOption, mayUse: MayUse) {
    this.#bridge = bridge
    this.#mine = mine
    this.#mayUse = mayUse
  }

  discover(query?: { readonly capability?: string }): readonly ListedAgent[] {
    const standard = this.#default()
    const agents = this.#bridge.discover({ ...query, ...this.#mine }).filter(({ id }) => this.#mayUse(id))
    return agents.map((agent) => ({ ...agent, default: agent.id === standard }))
  }

  within<T extends { readonly agentId: string }>(listed: readonly T[]): readonly T[] {
    return listed.filter(({ agentId }) => this.#mayUse(agentId))
  }

  /** Returns the given agent, or the default agent. Throws for a hidden agent as for one that does not exist. */
  chosen(given: string | undefined): string {
    const agentId = given ?? this.#default()
    if (agentId === undefined) throw new BridgeError('CONFIG', 'No agents registered', { details: { reason: 'no-agents' } })
    if (this.#mayUse(agentId)) return agentId
    throw missingAgent(
      agentId,
      this.discover().map(({ id }) => id),
    )
  }

  health(): BridgeHealth {
    const health = this.#bridge.health(this.#mine)
    const agents = this.discover()
    return {
      ...health,
      healthy: health.healthy && agents.length > 0,
      agents: { total: agents.length, ready: agents.filter(({ status }) => status === 'ready').length },
      executors: health.executors.map(({ workers, leftOut, ...executor }) => ({
        ...executor,
        ...(workers && { workers: workers.filter(({ id }) => this.#mayUse(id)) }),
        ...(leftOut && { leftOut: leftOut.filter(({ id }) => this.#mayUse(id)) }),
      })),
    }
  }

  /** Returns the owner in whose name a session or request is queried: `#nobody` if its agent is hidden from the user. */
  async ownerFor({ sessionId, requestId }: CancelInput): Promise<OwnerOption> {
    const agentIds = [
      sessionId === undefined ? undefined : await agentOf(this.#bridge.session(sessionId, this.#mine)),
      requestId === undefined ? undefined : await agentOf(this.#bridge.request(requestId, this.#mine)),
    ]
    return agentIds.every((agentId) => agentId === undefined || this.#mayUse(agentId)) ? this.#mine : this.#nobody
  }

  #default(): string | undefined {
    const agents = this.#bridge.discover(this.#mine).filter(({ id }) => this.#mayUse(id))
    return (agents.find((agent) => agent.default) ?? agents[0])?.id
  }
}

/** Returns undefined if the session or request does not exist; the call that follows reports that. */
async function agentOf(asking: Promise<{ readonly agentId?: string }>): Promise<string | undefined> {
  try {
    return (await asking).agentId
  } catch (error) {
    if (BridgeError.isInstance(error)) return error.details.agentId
    throw error
  }
}
