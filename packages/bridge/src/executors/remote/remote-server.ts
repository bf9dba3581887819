import { ClientError, createClient } from '@bowline/client'
import type { AgentSummary, Client, ClientOptions, ReconnectOptions } from '@bowline/client'
import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks as check } from '../../arguments.ts'
import { withSchema } from '../../check-schemas.ts'
import { BridgeError } from '../../errors.ts'
import { givenFields } from '../../given-fields.ts'
import type { LogFields } from '../../logger.ts'
import type { DiscoveredAgent, ExecutorHost } from '../executor.ts'

/** Address, credentials and agents of one remote server. */
export interface RemoteServerOptions {
  /** Name of the server in logs. */
  readonly id: string
  /** URL with http or https, without query. */
  readonly baseUrl: string
  /** Bearer token, sent to `baseUrl` only. A function is called for each request. */
  readonly token?: ClientOptions['token']
  /** Agent names on the server. Only these are offered, also while the server is unreachable. Default: all that it lists. */
  readonly agents?: readonly string[]
  /** Prefix that the ids of the server's agents get in the bridge. Default: none. */
  readonly agentIdPrefix?: string
  /** Whether to keep or delete the server's session when the bridge session is closed. Default `keep`. */
  readonly onClose?: 'keep' | 'delete'
  /** False if the server keeps its sessions in memory, so that its restart loses the runs. Default true. */
  readonly durable?: boolean
  /** Limits of reconnecting after a lost connection. Default: two minutes. */
  readonly reconnect?: ReconnectOptions
  /** Function that sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

export const serverChecks: FieldChecks<RemoteServerOptions> = {
  id: check.checkName,
  baseUrl: check.checkName,
  token: withSchema({ type: 'string' }, (path, value) => {
    check.checkRequired(path, value, 'a text or a function', (given) => ['undefined', 'string', 'function'].includes(typeof given))
  }),
  agents: check.listOf(check.checkName),
  agentIdPrefix: check.checkText,
  onClose: check.oneOf('keep', 'delete'),
  durable: check.checkBoolean,
  reconnect: check.optionalRecord<ReconnectOptions>({
    baseMs: check.whole(0),
    maxMs: check.whole(0),
    maxDownMs: check.whole(0),
    silenceMs: check.whole(0),
  }),
  fetch: check.checkFunction,
}

const freshMs = 30_000
/** Limits for listing agents: a lost connection is retried only briefly, because the caller waits. */
const looking: ReconnectOptions = { baseMs: 100, maxMs: 250, maxDownMs: 1000, silenceMs: 5000 }

/** One server, with the agents that it last listed. */
export class RemoteServer {
  readonly options: RemoteServerOptions
  readonly durable: boolean
  readonly client: Client
  readonly #lookout: Client
  readonly #host: ExecutorHost
  #listed: readonly AgentSummary[] | undefined
  #reached = false
  #away = 'not contacted yet'
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined

  constructor(options: RemoteServerOptions, host: ExecutorHost) {
    this.options = options
    this.durable = options.durable ?? true
    this.#host = host
    this.client = clientFor(options, host, givenFields(options.reconnect ?? {}))
    this.#lookout = clientFor(options, host, looking)
  }

  get reached(): boolean {
    return this.#reached
  }

  /** Reason why its agents cannot be used; undefined if the server is reachable. */
  get reason(): string | undefined {
    return this.#reached ? undefined : `the server ${this.options.id} is not reachable: ${this.#away}`
  }

  /** Whether the agents of the server are not known yet. */
  get isUnknown(): boolean {
    return !this.#listed && !this.options.agents
  }

  /** Returns the agents as last listed. If that list is older than 30 seconds, starts an update for the next call. */
  agents(): readonly DiscoveredAgent[] {
    if (this.#host.clock.now() - this.#lookedAt >= freshMs) void this.refresh()
    const { agents: wanted, agentIdPrefix = '' } = this.options
    const listed = new Map(this.#listed?.map((agent) => [agent.id, agent]))
    return [...new Set(wanted ?? listed.keys())].map((name) => {
      const found = listed.get(name)
      const reason = this.reason ?? (found ? undefined : `the server ${this.options.id} has no agent ${name}`)
      return {
        id: agentIdPrefix + name,
        ...(found?.description && { description: found.description }),
        capabilities: found?.capabilities ?? [],
        status: reason === undefined ? 'ready' : 'unavailable',
        ...(reason !== undefined && { reason }),
        durable: this.durable,
        resumable: true,
      }
    })
  }

  /** Returns the agent's name on the server. */
  nameOf(agentId: string): string | undefined {
    const { agentIdPrefix = '' } = this.options
    return this.agents().some(({ id }) => id === agentId) ? agentId.slice(agentIdPrefix.length) : undefined
  }

  /** Updates the list of agents. Never rejects. */
  refresh(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #look(): Promise<void> {
    this.#lookedAt = this.#host.clock.now()
    try {
      this.#listed = await this.#lookout.agents()
      this.#notice(true)
      this.#host.agentsChanged()
    } catch (error) {
      this.#away = awayBecause(error)
      this.#notice(false, ClientError.isInstance(error) ? { reason: error.code } : { cause: error })
    }
  }

  #notice(reached: boolean, why: LogFields = {}): void {
    const { logger } = this.#host
    if (reached && !this.#reached) logger.info({ server: this.options.id }, 'the server is reached')
    if (!reached) logger.warn({ server: this.options.id, ...why }, 'the server is out of reach')
    this.#reached = reached
  }
}

/** Throws `CONFIG` for an invalid address and for a repeated server id. */
export function checkServers(path: string, servers: readonly RemoteServerOptions[]): void {
  const ids = new Set<string>()
  for (const [place, { id, baseUrl }] of servers.entries()) {
    if (ids.has(id)) throw new BridgeError('CONFIG', `${path}[${place}].id: two servers have the id ${id}`)
    ids.add(id)
    try {
      createClient({ baseUrl })
    } catch (error) {
      if (!ClientError.isInstance(error)) throw error
      throw new BridgeError('CONFIG', `${path}[${place}].baseUrl of server ${id}: ${error.message}`)
    }
  }
}

/** Leaves out texts of the server or a proxy: callers may see this reason. */
function awayBecause(error: unknown): string {
  if (!ClientError.isInstance(error)) return 'the request failed'
  return error.status === undefined ? error.code : `it answered ${error.status} (${error.code})`
}

function clientFor({ baseUrl, token, fetch }: RemoteServerOptions, { clock }: ExecutorHost, reconnect: ReconnectOptions): Client {
  return createClient({ baseUrl, clock, reconnect, ...(token !== undefined && { token }), ...(fetch && { fetch }) })
}
