import type { RedactConfig } from '@bowline/llm'
import type { RuntimeWebhook, WebhookOptions } from '@bowline/sessions'
import { isFields } from '@bowline/llm/arguments'
import { configChecks } from '../arguments.ts'
import type { Auth } from '../auth/auth.ts'
import type { Limits } from '../limits.ts'
import type { AgentAccess, CorsOptions, RouteOptions } from '../options.ts'

/** Configuration of `bowline-server`, read from `bowline.config.ts`, `.js`, `.mjs` or `.json`. Paths are relative to the file. */
export interface ServerConfig {
  /** The module whose exports are the agents. */
  readonly agents?: string
  /** Agent of new sessions that name none. Default: the first agent. */
  readonly defaultAgent?: string
  /** Rights of clients by agent name. */
  readonly access?: Readonly<Record<string, AgentAccess>>
  /** Which agents clients of MCP reach at `/mcp`. Default: none, and there is no such route. */
  readonly bridge?: BridgeAgents
  /** `sqlite:<file>` (default `sqlite:./.bowline/data.db`), `file:<folder>`, `postgres://<user>@<host>/<database>` or `memory:`. */
  readonly store?: string
  /** Authentication of callers. Required, so that no server is open by accident. */
  readonly auth?: Auth
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 8787; 0 takes a free one. */
  readonly port?: number
  /** Host names of the server, with or without a port, in addition to loopback names and its own address. */
  readonly hosts?: readonly string[]
  /** Prefix of every route, for example `/bowline`. */
  readonly basePath?: string
  readonly cors?: CorsOptions
  /** Addresses and ranges of proxies whose `X-Forwarded-*` headers are believed. Default: none. */
  readonly trustedProxies?: readonly string[]
  readonly routes?: RouteOptions
  readonly limits?: Limits
  /** Silence after which a stream gets a comment. Default 15,000. */
  readonly heartbeatMs?: number
  /** How long open streams may finish when the process is asked to end. Default 25,000. */
  readonly drainMs?: number
  /** Recording of model requests, for callers with the scope `requests:read`. Default: none are recorded. */
  readonly requests?: RequestOptions
  readonly log?: LogOptions
  /**
   * Webhooks that are notified about all sessions: by a signed POST, at least once. A code file can read the secret from an
   * environment variable.
   */
  readonly notify?: RuntimeWebhook | readonly RuntimeWebhook[]
  /** How webhooks are reached. */
  readonly webhooks?: Pick<WebhookOptions, 'http' | 'allow' | 'ca'>
  /** Further secrets to remove from logs, problems, errors and spans. */
  readonly redact?: RedactConfig
}

/** Agents of this server that other programs reach over MCP. */
export interface BridgeAgents {
  /** Names of agents of this server. Each keeps its conversations in the store of the server. */
  readonly agents: readonly string[]
  /** Gets work that names no agent. Default: the first of them. */
  readonly defaultAgent?: string
}

/** Recording of model requests, with its bounds per session. */
export interface RequestOptions {
  /** Every request to a model is recorded before it is sent, the prompt included. Default false. */
  readonly record?: boolean
  /** Number of requests kept per session, at least 2; the oldest are deleted first. Default 200. */
  readonly maxRequests?: number
  /** UTF-8 bytes of JSON kept per session, at least 16 KiB; the oldest requests are deleted first. Default 4 MiB. */
  readonly maxBytes?: number
  /**
   * Maximum lifetime of a request in milliseconds after it was sent; it may be deleted after half of it. Default 30 days, at
   * most ten years.
   */
  readonly ttlMs?: number
}

/** Level and content of the log. */
export interface LogOptions {
  /** Default `info`. */
  readonly level?: LogLevel
  /** Messages may be logged too. Default false. */
  readonly content?: boolean
}

/** Least severity that is logged. `silent` logs nothing. */
export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/** Returns the configuration with its type checked. The command checks keys and values when it reads the file. */
export function defineServerConfig(config: ServerConfig): ServerConfig {
  configChecks.checkRequired('config', config, 'an object', isFields)
  return config
}
