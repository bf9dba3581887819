import { subagentsOf, type Agent } from '@bowline/agent-loop'
import { originOf } from '../contract/origin.ts'
import { SessionError } from '../errors.ts'
import { checkAgentName } from '../keys.ts'
import type { RunRecord, SessionRecord } from '../contract/records.ts'

/** The agents of a runtime and their subagents. */
export class AgentDirectory {
  /** Agents with which sessions can be opened. The first is the default. */
  readonly roots: ReadonlyMap<string, Agent>
  readonly #names: readonly string[]

  constructor(list: readonly Agent[]) {
    this.roots = rootsOf(list)
    this.#names = [...new Set([...this.roots.values()].flatMap((agent) => namesBelow(agent, new Set())))]
  }

  get default(): string {
    const [first] = this.roots.keys()
    return first ?? ''
  }

  /** Returns the names of all agents, at every depth. */
  names(): readonly string[] {
    return this.#names
  }

  /**
   * Returns the agent of a run. The agent of a subagent's run is found by its path from the root. Returns undefined if this
   * version of the code does not have the agent.
   */
  agentOf(session: SessionRecord, run: RunRecord): Agent | undefined {
    const origin = originOf(run)
    if (!origin) return this.roots.get(session.agent)
    return origin.path.reduce<Agent | undefined>(
      (agent, name) => agent && subagentsOf(agent).find((subagent) => subagent.name === name),
      this.roots.get(origin.rootAgent),
    )
  }
}

function rootsOf(list: readonly Agent[]): ReadonlyMap<string, Agent> {
  const agents = new Map<string, Agent>()
  for (const agent of list) {
    checkAgentName(agent.name)
    if (agents.has(agent.name)) throw new SessionError('invalid-config', `Two agents have the name ${agent.name}. Rename one of them.`)
    agents.set(agent.name, agent)
  }
  return agents
}

function namesBelow(agent: Agent, above: ReadonlySet<Agent>): readonly string[] {
  if (above.has(agent)) return []
  const path = new Set([...above, agent])
  return [agent.name ?? '', ...subagentsOf(agent).flatMap((subagent) => namesBelow(subagent, path))]
}
