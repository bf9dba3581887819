import { checkClientOptions, dropOldest, randomId, type ClientOptions } from './client-options.ts'
import { httpOf, queryOf } from './http.ts'
import { checkCallOptions, checkSessionQuery } from './request-checks.ts'
import type { CallOptions, ClientSession, SessionQuery } from './client-session.ts'
import { createSession } from './session.ts'
import type { AgentSummary, SessionList } from './wire-sessions.ts'

/** Client of one server. It stores no conversation; handles of sessions are cheap. */
export interface Client {
  /**
   * Returns a handle of a session without making a request. Without an id it generates one, and the server creates the session with
   * the first input.
   */
  session(id?: string): ClientSession
  /** Lists the agents that the token may see. Rejects with a `ClientError`. */
  agents(options?: CallOptions): Promise<readonly AgentSummary[]>
  /** Lists the sessions of the tenant, latest update first. Rejects with a `ClientError`. */
  sessions(options?: CallOptions & SessionQuery): Promise<SessionList>
}

/** Creates a client of one server. Makes no request. Throws a `ClientError` with code `invalid-config`. */
export function createClient(options: ClientOptions): Client {
  checkClientOptions(options)
  const { tools = {}, ids = randomId } = options
  const http = httpOf(options)
  const unsent = new Set<string>()
  const parts = { http, tools, ids, unsent }
  return {
    session(id) {
      if (id !== undefined) return createSession(parts, id)
      const made = createSession(parts, `s_${ids()}`)
      unsent.add(made.id)
      dropOldest(unsent)
      return made
    },
    async agents(callOptions = {}) {
      checkCallOptions(callOptions)
      const { abortSignal } = callOptions
      const { agents } = await http.json<{ agents: readonly AgentSummary[] }>({ method: 'GET', path: '/api/agents' }, abortSignal)
      return agents
    },
    async sessions(queryOptions = {}) {
      checkSessionQuery(queryOptions)
      const { abortSignal, ...query } = queryOptions
      return http.json<SessionList>({ method: 'GET', path: `/api/agent/sessions${queryOf(query)}` }, abortSignal)
    },
  }
}
