import type { RedactConfig } from '@bowline/llm'
import type { RuntimeWebhook, WebhookOptions } from '@bowline/sessions'
import { isFields } from '@bowline/llm/arguments'
import { configChecks } from '../arguments.ts'
import type { Auth } from '../auth/auth.ts'
import type { Limits } from '../limits.ts'
import type { AgentAccess, CorsOptions, RouteOptions } from '../options.ts'

/** Configuration of `bowline-server`, read from `bowline.config.ts`, `.js`, `.mjs` or `.json`. Paths are relative to the file. */
export interface ServerConfig {
  /** Module whose exports are the agents. */
  readonly agents?: string
  /** Agent of new sessions that name none. Default: the first agent. */
  readonly defaultAgent?: string
  /** Rights of clients by agent name. */
  readonly access?: Readonly<Record<string, AgentAccess>>
  /** Agents that MCP clients reach at `/mcp`. Default: none, and the route does not exist. */
  readonly bridge?: BridgeAgents
  /** `sqlite:<file>` (default `sqlite:./.bowline/data.db`), `file:<folder>`, `postgres://<user>@<host>/<database>` or `memory:`. */
  readonly store?: string
  /**
   * Address of the same Postgres database past a pooler in transaction mode, such as PgBouncer, for the connection that listens and
   * holds the lock of the process. Default: that of `store`.
   */
  readonly directConnectionString?: string
  /** Decides which server works on a session: `own` (default) the servers on one store, or an engine. */
  readonly placement?: 'own' | 'restate'
  /** Restate, with the placement `restate`. Needs the packages `@bowline/restate` and `@restatedev/restate-sdk`. */
  readonly restate?: RestateConfig
  /** Authentication of callers. Required, so that no server is open by accident. */
  readonly auth?: Auth
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string
  /** Port to listen on. Default 8787; 0 selects a free port. */
  readonly port?: number
  /** Host names of the server, with or without a port, in addition to loopback names and its own address. */
  readonly hosts?: readonly string[]
  /** Prefix of every route, for example `/bowline`. */
  readonly basePath?: string
  readonly cors?: CorsOptions
  /** Addresses and ranges of proxies whose `X-Forwarded-*` headers are trusted. Default: none. */
  readonly trustedProxies?: readonly string[]
  readonly routes?: RouteOptions
  readonly limits?: Limits
  /** Silence in milliseconds after which a stream gets a comment. Default 15,000. */
  readonly heartbeatMs?: number
  /** Time in milliseconds for open streams to finish when the process is asked to exit. Default 25,000. */
  readonly drainMs?: number
  /** Recording of model requests, for callers with the scope `requests:read`. Default: no requests are recorded. */
  readonly requests?: RequestOptions
  readonly log?: LogOptions
  /**
   * Webhooks that are notified about all sessions by a signed POST, at least once. A code file can read the secret from an
   * environment variable.
   */
  readonly notify?: RuntimeWebhook | readonly RuntimeWebhook[]
  /** Network rules for webhooks. */
  readonly webhooks?: Pick<WebhookOptions, 'http' | 'allow' | 'ca'>
  /** Additional secrets to remove from logs, problems, errors and spans. */
  readonly redact?: RedactConfig
}

/** Address of Restate, and the address on which this server listens for it. */
export interface RestateConfig {
  /** URL of Restate's ingress. Default `http://127.0.0.1:8080`. */
  readonly url?: string
  /** Name of the virtual object. Default `sessions`. */
  readonly name?: string
  /** Address on which this server listens for Restate. Default 127.0.0.1. */
  readonly host?: string
  /** Port of that address. Default 9080; 0 selects a free port. */
  readonly port?: number
  /** Time in milliseconds after which a run goes on in another invocation. Default 50,000. */
  readonly turnMs?: number
  /** Time in milliseconds without a sign of life after which Restate gives up this server. Default 30,000. */
  readonly frozenAfterMs?: number
}

/** Agents of this server that other programs can reach over MCP. */
export interface BridgeAgents {
  /** Names of agents of this server. The store of the server holds their conversations. */
  readonly agents: readonly string[]
  /** Agent for work that names none. Default: the first of them. */
  readonly defaultAgent?: string
}

/** Recording of model requests and its limits per session. */
export interface RequestOptions {
  /** Records every request to a model before it is sent, including the prompt. Default false. */
  readonly record?: boolean
  /** Maximum number of requests stored per session, at least 2. The oldest are deleted first. Default 200. */
  readonly maxRequests?: number
  /** Maximum UTF-8 bytes of JSON stored per session, at least 16 KiB. The oldest requests are deleted first. Default 4 MiB. */
  readonly maxBytes?: number
  /** Maximum age of a stored request in milliseconds. It may be deleted at half of that age. Default 30 days, at most ten years. */
  readonly ttlMs?: number
}

/** Level and content of the log. */
export interface LogOptions {
  /** Minimum severity. Default `info`. */
  readonly level?: LogLevel
  /** Allows message content in the log. Default false. */
  readonly content?: boolean
}

/** Minimum severity that is logged. `silent` logs nothing. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Returns the configuration unchanged and checks its type. The command checks keys and values when it reads the file. */
export function defineServerConfig(config: ServerConfig): ServerConfig {
  configChecks.checkRequired('config', config, 'an object', isFields)
  return config
}
