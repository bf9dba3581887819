import { checkClientOptions, randomId, type ClientOptions } from './client-options.ts'
import { httpOf, queryOf } from './http.ts'
import { checkCallOptions, checkSessionQuery } from './request-checks.ts'
import type { CallOptions, ClientSession, SessionQuery } from './client-session.ts'
import { createSession } from './session.ts'
import type { AgentSummary, SessionList } from './wire-sessions.ts'

export interface Client {
  /** Without an id: a new session, which begins at the server with its first input. No request is made. */
  session(id?: string): ClientSession
  agents(options?: CallOptions): Promise<readonly AgentSummary[]>
  /** The newest update first. */
  sessions(options?: CallOptions & SessionQuery): Promise<SessionList>
}

/** Throws `invalid-config`. Makes no request. */
export function createClient(options: ClientOptions): Client {
  checkClientOptions(options)
  const { tools = {}, ids = randomId } = options
  const http = httpOf(options)
  const unsent = new Set<string>()
  const parts = { http, tools, ids, unsent, deleted: new Set<string>() }
  return {
    session(id) {
      if (id !== undefined) return createSession(parts, id)
      const made = createSession(parts, `s_${ids()}`)
      unsent.add(made.id)
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
      return http.json<SessionList>({ method: 'GET', path: `/api/agent/sessions${queryOf({ ...query })}` }, abortSignal)
    },
  }
}
