import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks as check } from '../arguments.ts'
import { checkAgent } from '../check-agent.ts'
import type { AgentInfo, AgentProvider, BridgeAgent, BridgeEvent, PromptResult, SessionContext } from '../agent.ts'
import { BridgeError } from '../errors.ts'
import { givenFields } from '../given-fields.ts'
import type { BridgeExecutor, DiscoveredAgent, ExecutorHost } from './executor.ts'

/** Agents and session limits of an in-process executor. Times are in milliseconds. */
export interface InProcessExecutorOptions {
  /** Agents made by `defineBridgeAgent`, `runtimeAgent` or `multiProviderAgent`. */
  readonly agents: readonly BridgeAgent[]
  /** Lifetime of a session in ms; 0 disables it. Default 1 hour. */
  readonly ttlMs?: number
  /** Lifetime of a session without a prompt in ms; 0 disables it. Default 10 minutes. */
  readonly idleMs?: number
  /** Maximum number of open sessions. Default 100. */
  readonly maxSessions?: number
}

/** An executor for agents of this process. Agents can be added while it runs. */
export interface InProcessExecutor extends BridgeExecutor {
  /** Adds an agent. For an invalid agent or a used id, throws `CONFIG` and changes nothing. */
  add(agent: BridgeAgent): void
}

const optionChecks: FieldChecks<InProcessExecutorOptions> = {
  agents: check.requiredList(checkAgent),
  ttlMs: check.whole(0),
  idleMs: check.whole(0),
  maxSessions: check.whole(1),
}

const usualLimits = { ttlMs: 3_600_000, idleMs: 600_000, maxSessions: 100, inactivityMs: 5 * 60_000 }

/** Creates an executor for agents of this process. Throws `CONFIG` for an invalid agent or a repeated id. */
export function inProcessExecutor(options: InProcessExecutorOptions): InProcessExecutor {
  check.record(optionChecks)('inProcessExecutor.options', options)
  const { agents: given, ...limits } = options
  const agents = new Map<string, { readonly agent: BridgeAgent; readonly listed: DiscoveredAgent }>()
  // A session keeps the agent with which it was opened.
  const sessions = new Map<string, BridgeAgent>()
  let running = false
  let host: ExecutorHost | undefined

  function add(agent: BridgeAgent): void {
    checkAgent('add.agent', agent)
    const { id } = agent.info
    if (agents.has(id)) throw new BridgeError('CONFIG', `Two agents have the id ${id}: rename one of them`, { details: { agentId: id } })
    agents.set(id, { agent, listed: describe(agent) })
    host?.agentsChanged()
  }

  function agentOf({ sessionId }: SessionContext): BridgeAgent {
    const agent = sessions.get(sessionId)
    if (!agent) throw new BridgeError('NOT_FOUND', 'Session not found', { details: { sessionId } })
    return agent
  }

  for (const agent of given) add(agent)
  return {
    specificationVersion: 'v1',
    kind: 'in-process',
    limits: { ...usualLimits, ...givenFields(limits) },
    get stateStore() {
      return [...agents.values()].find(({ agent }) => agent.stateStore)?.agent.stateStore
    },
    add,
    start: async (given) => {
      host = given
      running = true
    },
    stop: async () => {
      running = false
      sessions.clear()
    },
    agents: () => [...agents.values()].map(({ listed }) => listed),
    health: () => ({ healthy: running }),
    open: async (session, how) => {
      const agent = agents.get(session.agentId)?.agent
      if (!agent) throw new BridgeError('NOT_FOUND', `No agent ${session.agentId}`, { details: { agentId: session.agentId } })
      if (how === 'create') await agent.onSessionCreate?.(session)
      sessions.set(session.sessionId, agent)
    },
    prompt: (request) => eventsOf(agentOf(request.session).onPrompt(request)),
    answer: async (request) => {
      const agent = agentOf(request.session)
      await agent.onAnswers?.(request)
      return agent.onAnswers !== undefined
    },
    cancel: async (request) => agentOf(request.session).onCancel?.(request),
    detach: ({ sessionId }) => void sessions.delete(sessionId),
    close: async (session, reason) => {
      const agent = agentOf(session)
      sessions.delete(session.sessionId)
      await agent.onSessionClose?.(session, reason)
    },
  }
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

/** Returns a stream unchanged, so that `return()` reaches the agent. Converts any other answer to a stream of one event. */
export function eventsOf(answer: Answer): AsyncIterable<BridgeEvent> {
  return isStream(answer) ? answer : oneResult(answer)
}

async function* oneResult(answer: PromptResult | Promise<PromptResult>): AsyncGenerator<BridgeEvent> {
  yield { type: 'result', result: await answer }
}

function isStream(answer: Answer): answer is AsyncIterable<BridgeEvent> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer
}
