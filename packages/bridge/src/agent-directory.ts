import type { ListedAgent } from './bridge-contract.ts'
import { BridgeError } from './errors.ts'
import type { BridgeExecutor, DiscoveredAgent } from './executors/executor.ts'
import { missingAgent } from './missing-agent.ts'
import { sortedOut } from './sorted-agents.ts'
import type { LeftOutAgent, Looked } from './sorted-agents.ts'
import type { BridgeLogger } from './logger.ts'

export interface DirectoryOptions {
  readonly executors: readonly BridgeExecutor[]
  readonly defaultAgentId: string | undefined
  readonly authorize: (owner: string, action: 'discover', agentId: string) => boolean
  readonly logger: BridgeLogger
  /** Set by tests only. */
  readonly maxTold?: number
}

const retryWhenUnknownMs = 1000
/** Number of agents that cannot be listed and are reported. Others may still be many, if a worker makes up ids. */
const usualMaxTold = 1000

export interface FoundAgent {
  readonly agent: DiscoveredAgent
  readonly executor: BridgeExecutor
}

/** The agents of all executors, in order. If two executors have an agent with the same id, the earlier executor wins. */
export class AgentDirectory {
  readonly #executors: readonly BridgeExecutor[]
  readonly #defaultAgentId: string | undefined
  readonly #authorize: DirectoryOptions['authorize']
  readonly #logger: BridgeLogger
  readonly #maxTold: number
  readonly #told = new Set<string>()
  readonly #listeners = new Set<() => void>()
  #compared = ''

  constructor({ executors, defaultAgentId, authorize, logger, maxTold = usualMaxTold }: DirectoryOptions) {
    this.#executors = executors
    this.#defaultAgentId = defaultAgentId
    this.#authorize = authorize
    this.#logger = logger
    this.#maxTold = maxTold
  }

  list(): readonly ListedAgent[] {
    const found = this.#found()
    const chosen = this.#chosen(found)
    return found.map((each) => ({ ...each.agent, executor: each.executor.kind, default: each === chosen }))
  }

  /** Calls `listener` after a comparison has found other agents than before. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    // Without listeners nothing is compared, so the last comparison may be old.
    if (this.#listeners.size === 0) this.#compared = agentsKey(this.list())
    const added = (): void => listener()
    this.#listeners.add(added)
    return () => void this.#listeners.delete(added)
  }

  /** Calls the listeners if the agents differ from those of the last comparison. Never throws. */
  compare(): void {
    if (this.#listeners.size === 0) return
    const key = agentsKey(this.list())
    if (key === this.#compared) return
    this.#compared = key
    for (const listener of this.#listeners) {
      try {
        listener()
      } catch (error) {
        this.#logger.error({ cause: error }, 'a listener of the agent list failed')
      }
    }
  }

  /**
   * Finds an agent by id, or the default agent. Throws `NOT_FOUND` for an unknown id; the message lists the ids that pass
   * `isVisible`. If there are no agents, throws `CONFIG`, or `TRANSPORT` if an executor does not know its agents yet.
   */
  find(agentId: string | undefined, isVisible: (agentId: string) => boolean): FoundAgent {
    const found = this.#found()
    if (found.length === 0) throw this.#noAgents()
    const agent = agentId === undefined ? this.#chosen(found) : byId(found, agentId)
    if (!agent) throw missingAgent(agentId ?? '', found.map((each) => each.agent.id).filter(isVisible))
    return agent
  }

  /**
   * Finds the agent of an existing session or request of this owner. Throws as `find`; the message lists the agents that the owner
   * may see.
   */
  findEarlier(agentId: string, owner: string): FoundAgent {
    return this.find(agentId, (id) => this.#authorize(owner, 'discover', id))
  }

  /** Returns the agents of an executor that cannot be listed, with the reason. */
  leftOut(executor: BridgeExecutor): readonly LeftOutAgent[] {
    return this.#look(executor).leftOut
  }

  #noAgents(): BridgeError {
    const unknown = this.#unknown()
    if (unknown === undefined) return new BridgeError('CONFIG', 'No agents registered', { details: { reason: 'no-agents' } })
    const details = { reason: 'agents-unknown', outcome: 'none', retryAfterMs: retryWhenUnknownMs } as const
    return new BridgeError('TRANSPORT', `The agents are not known yet: ${unknown}`, { details })
  }

  /** Returns the reasons of executors that do not know their agents; undefined if there are none. */
  #unknown(): string | undefined {
    const reasons = this.#executors.flatMap((executor) => executor.health().reason ?? [])
    return reasons.length > 0 ? reasons.join('; ') : undefined
  }

  /** Returns undefined if no executor has an agent of this id. */
  executorOf(agentId: string): BridgeExecutor | undefined {
    return byId(this.#found(), agentId)?.executor
  }

  /** Returns the current description. An agent in another process describes itself only once that process runs. */
  asNow({ agent, executor }: FoundAgent): FoundAgent {
    return { agent: this.#agentsOf(executor).find(({ id }) => id === agent.id) ?? agent, executor }
  }

  /** Throws `CONFIG` if the default agent does not exist. Logs the ids that an earlier executor already has. */
  check(): void {
    const id = this.#defaultAgentId
    if (id !== undefined && !byId(this.#found(), id) && this.#unknown() === undefined) {
      const known =
        this.#found()
          .map(({ agent }) => agent.id)
          .join(', ') || 'no agents'
      throw new BridgeError('CONFIG', `The default agent ${id} does not exist; registered: ${known}`, { details: { agentId: id } })
    }
    const winners = new Map(this.#found().map(({ agent, executor }) => [agent.id, executor]))
    for (const executor of this.#executors) {
      for (const { id: agentId } of this.#agentsOf(executor)) {
        const winner = winners.get(agentId)
        if (winner === executor) continue
        this.#logger.warn({ agentId, executor: executor.kind, winner: winner?.kind }, 'an earlier executor has this agent id')
      }
    }
  }

  #found(): readonly FoundAgent[] {
    const found = new Map<string, FoundAgent>()
    for (const executor of this.#executors) {
      for (const agent of this.#agentsOf(executor)) {
        if (!found.has(agent.id)) found.set(agent.id, { agent, executor })
      }
    }
    return [...found.values()]
  }

  #agentsOf(executor: BridgeExecutor): readonly DiscoveredAgent[] {
    return this.#look(executor).agents
  }

  #look(executor: BridgeExecutor): Looked {
    try {
      const looked = sortedOut(executor.agents())
      for (const each of looked.leftOut) this.#tellLeftOut(executor, each)
      return looked
    } catch (error) {
      this.#logger.error({ executor: executor.kind, cause: error }, 'the agents of an executor cannot be listed')
      return { agents: [], leftOut: [] }
    }
  }

  /** Logs each reason once. */
  #tellLeftOut({ kind }: BridgeExecutor, { id, reason }: LeftOutAgent): void {
    const key = JSON.stringify([kind, id, reason])
    if (this.#told.has(key) || this.#told.size >= this.#maxTold) return
    this.#told.add(key)
    this.#logger.warn({ executor: kind, agentId: id, reason }, 'an agent cannot be listed')
  }

  #chosen(found: readonly FoundAgent[]): FoundAgent | undefined {
    return this.#defaultAgentId === undefined ? found[0] : byId(found, this.#defaultAgentId)
  }
}

/** Returns equal keys for equal lists. Ignores the status, which changes with each process and each session. */
export function agentsKey(agents: readonly ListedAgent[]): string {
  return JSON.stringify(agents, (name, value: unknown) => (name === 'status' || name === 'reason' ? undefined : value))
}

function byId(found: readonly FoundAgent[], id: string): FoundAgent | undefined {
  return found.find(({ agent }) => agent.id === id)
}
