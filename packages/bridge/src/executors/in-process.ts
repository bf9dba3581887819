import { checkAgent } from '../agent.ts'
import type { AgentInfo, AgentProvider, BridgeAgent, BridgeEvent, PromptContext, PromptResult } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import type { BridgeExecutor, DiscoveredAgent } from './executor.ts'

export interface InProcessExecutorOptions {
  readonly agents: readonly BridgeAgent[]
}

/** Agents of this process. Throws `CONFIG` for an agent that is not one, and for an id that is there twice. */
export function inProcessExecutor(options: InProcessExecutorOptions): BridgeExecutor {
  const agents = registered(options.agents)
  const listing = [...agents.values()].map(describe)
  // A session keeps the agent it was opened on.
  const sessions = new Map<string, BridgeAgent>()
  let running = false

  function agentOf(session: PromptContext['session']): BridgeAgent {
    const agent = sessions.get(session.sessionId)
    if (!agent) throw new BridgeError('NOT_FOUND', 'Session not found', { details: { sessionId: session.sessionId } })
    return agent
  }

  return {
    specificationVersion: 'v1',
    kind: 'in-process',
    start: async () => void (running = true),
    stop: async () => {
      running = false
      sessions.clear()
    },
    agents: () => listing,
    health: () => ({ healthy: running }),
    open: async (session) => {
      const agent = agents.get(session.agentId)
      if (!agent) throw new BridgeError('NOT_FOUND', `No agent ${session.agentId}`, { details: { agentId: session.agentId } })
      await agent.onSessionCreate?.(session)
      sessions.set(session.sessionId, agent)
    },
    prompt: (request) => eventsOf(agentOf(request.session).onPrompt(request)),
    cancel: async (request) => agentOf(request.session).onCancel?.(request),
    close: async (session, reason) => {
      const agent = agentOf(session)
      sessions.delete(session.sessionId)
      await agent.onSessionClose?.(session, reason)
    },
  }
}

function registered(agents: readonly BridgeAgent[]): ReadonlyMap<string, BridgeAgent> {
  const byId = new Map<string, BridgeAgent>()
  for (const agent of agents) {
    checkAgent(agent)
    const { id } = agent.info
    if (byId.has(id)) throw new BridgeError('CONFIG', `Two agents have the id ${id}`, { details: { agentId: id } })
    byId.set(id, agent)
  }
  return byId
}

function describe(agent: BridgeAgent): DiscoveredAgent {
  const providers = agent.providers?.map(describeProvider) ?? []
  return {
    ...describeInfo(agent.info),
    capabilities: agent.capabilities ?? [],
    status: 'ready',
    durable: agent.durable ?? false,
    ...(providers.length > 0 && { providers }),
  }
}

function describeInfo({ id, name, description, version }: AgentInfo): AgentInfo {
  return { id, ...(name && { name }), ...(description && { description }), ...(version && { version }) }
}

function describeProvider({ id, models, kind, displayName, description, capabilities = [] }: AgentProvider): AgentProvider {
  return {
    id,
    models,
    ...(kind && { kind }),
    ...(displayName && { displayName }),
    ...(description && { description }),
    ...(capabilities.length > 0 && { capabilities }),
  }
}

type Answer = ReturnType<BridgeAgent['onPrompt']>

/** A stream goes through as it is, so that `return()` reaches the agent; an answer becomes a stream of one event. */
function eventsOf(answer: Answer): AsyncIterable<BridgeEvent> {
  return isStream(answer) ? answer : oneResult(answer)
}

async function* oneResult(answer: PromptResult | Promise<PromptResult>): AsyncGenerator<BridgeEvent> {
  yield { type: 'result', result: await answer }
}

function isStream(answer: Answer): answer is AsyncIterable<BridgeEvent> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
}
