import type { Status } from '@bowline/agent-loop/events'
import { checkClientOptions } from './client-options.ts'
import { httpOf, queryOf, type ConnectionOptions } from './http.ts'
import { checkCallOptions, checkSessionQuery } from './request-checks.ts'
import type { CallOptions, ClientSession } from './client-session.ts'
import type { ClientTools } from './client-tool.ts'
import { createSession } from './session.ts'
import type { AgentSummary, SessionList } from './wire.ts'

export interface ClientOptions extends ConnectionOptions {
  /** Remote tools of every run. */
  readonly tools?: ClientTools
  /** Makes session ids and idempotency keys: letters and digits, never the same again. */
  readonly ids?: () => string
}

export interface Client {
  /** Without an id: a new session, which begins at the server with its first input. No request is made. */
  session(id?: string): ClientSession
  agents(options?: CallOptions): Promise<readonly AgentSummary[]>
  /** The newest update first. */
  sessions(options?: CallOptions & SessionQuery): Promise<SessionList>
}

export interface SessionQuery {
  readonly agent?: string
  readonly status?: Status
  /** True: only those that have expired; false: only the others. */
  readonly expired?: boolean
  /** Those that this one handed work to. Their ids are good for `state`, `messages` and `attach` only. */
  readonly parent?: string
  /** 1–200, default 50. */
  readonly limit?: number
  readonly cursor?: string
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

/** 128 bits. `crypto.randomUUID` is missing on pages without https. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
