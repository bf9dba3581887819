import { optionPath, type FieldChecks } from '@bowline/llm/arguments'
import type { BridgeEvent, PromptContext, SessionContext } from '../../agent.ts'
import { BridgeError } from '../../errors.ts'
import { readableEvents } from '../../readable-events.ts'
import { configChecks as check } from '../../arguments.ts'
import { givenFields } from '../../given-fields.ts'
import { limitChecks } from '../executor.ts'
import type { BridgeExecutor, DiscoveredAgent, ExecutorLimits } from '../executor.ts'
import { RemoteServer, checkServers, serverChecks } from './remote-server.ts'
import type { RemoteServerOptions } from './remote-server.ts'
import { RemoteSession } from './remote-session.ts'

/** Servers and limits of a remote executor. */
export interface RemoteExecutorOptions extends ExecutorLimits {
  /** Servers in order of precedence. If two servers offer the same agent id, the first wins. */
  readonly servers: readonly RemoteServerOptions[]
}

const optionChecks: FieldChecks<RemoteExecutorOptions> = { ...limitChecks, servers: check.requiredList(check.record(serverChecks)) }

/**
 * Creates an executor for agents of other Bowline servers. Each session is a session of that server, under an id that only this
 * executor knows. Each request is a run of that server, which continues if this process ends. Throws `CONFIG`.
 */
export function remoteExecutor(options: RemoteExecutorOptions): BridgeExecutor {
  return serversIn('remoteExecutor.options', options)
}

/** Like `remoteExecutor`, but errors name the options by `path`. */
export function serversIn(path: string, options: RemoteExecutorOptions): BridgeExecutor {
  check.record(optionChecks)(path, options)
  const { servers: given, ...limits } = options
  checkServers(optionPath(path, 'servers'), given)
  const sessions = new Map<string, RemoteSession>()
  let servers: readonly RemoteServer[] = []
  let running = false

  function placeOf(agentId: string): { readonly server: RemoteServer; readonly name: string } {
    for (const server of servers) {
      const name = server.nameOf(agentId)
      if (name !== undefined) return { server, name }
    }
    throw new BridgeError('NOT_FOUND', `No agent ${agentId}`, { details: { agentId } })
  }

  function sessionOf({ sessionId }: SessionContext): RemoteSession {
    const session = sessions.get(sessionId)
    if (!session) throw new BridgeError('NOT_FOUND', 'Session not found', { details: { sessionId } })
    return session
  }

  return {
    specificationVersion: 'v1',
    kind: 'remote',
    limits: givenFields(limits),
    async start(host) {
      servers = given.map((options) => new RemoteServer(options, host))
      // A server that is unreachable now is contacted again later.
      await Promise.all(servers.map((server) => server.refresh()))
      running = true
    },
    stop: async () => {
      running = false
      sessions.clear()
    },
    agents: () => firstOfEach(servers.flatMap((server) => server.agents())),
    health() {
      const unknown = servers.flatMap((server) => (server.isUnknown && server.reason !== undefined ? [server.reason] : []))
      return { healthy: running && servers.every(({ reached }) => reached), ...(unknown.length > 0 && { reason: unknown.join('; ') }) }
    },
    refresh: async () => void (await Promise.all(servers.map((server) => server.refresh()))),
    async open(session, how) {
      const { server, name } = placeOf(session.agentId)
      const opened = new RemoteSession(server, name, session)
      if (how === 'create' && session.conversationId !== session.sessionId) await opened.checkResumable()
      sessions.set(session.sessionId, opened)
    },
    prompt: (request: PromptContext): AsyncIterable<BridgeEvent> => {
      const session = sessionOf(request.session)
      return readableEvents((reading) => session.events(request, reading))
    },
    cancel: (request) => sessionOf(request.session).cancel(request),
    detach: ({ sessionId }) => void sessions.delete(sessionId),
    async close(session) {
      const closing = sessionOf(session)
      sessions.delete(session.sessionId)
      await closing.close()
    },
  }
}

function firstOfEach(agents: readonly DiscoveredAgent[]): readonly DiscoveredAgent[] {
  const byId = new Map<string, DiscoveredAgent>()
  for (const agent of agents) if (!byId.has(agent.id)) byId.set(agent.id, agent)
  return [...byId.values()]
}
