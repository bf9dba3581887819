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
  /** Of new sessions that name none. Default: the first agent. */
  readonly defaultAgent?: string
  /** What clients may do with each agent, by its name. */
  readonly access?: Readonly<Record<string, AgentAccess>>
  /** Which agents clients of MCP reach at `/mcp`. Default: none, and there is no such route. */
  readonly bridge?: BridgeAgents
  /** `sqlite:<file>` (default `sqlite:./.bowline/data.db`), `file:<folder>`, `postgres://<user>@<host>/<database>` or `memory:`. */
  readonly store?: string
  /** There is no default: nobody is let in by accident. */
  readonly auth?: Auth
  /** Default 127.0.0.1. */
  readonly host?: string
  /** Default 8787; 0 takes a free one. */
  readonly port?: number
  /** Names, with or without a port, under which the server is reached besides loopback names and its own address. */
  readonly hosts?: readonly string[]
  /** In front of every route, `/bowline` for example. */
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
  /** What models are sent, kept in the store for callers with the scope `requests:read`. Default: nothing is kept. */
  readonly requests?: RequestOptions
  readonly log?: LogOptions
  /** Receivers that are told what becomes of all sessions: by a signed POST, at least once. A file in code can take the secret from a variable. */
  readonly notify?: RuntimeWebhook | readonly RuntimeWebhook[]
  /** How webhooks are reached. */
  readonly webhooks?: Pick<WebhookOptions, 'http' | 'allow' | 'ca'>
  /** What is secret in logs, problems, errors and spans besides what always is. */
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
  /** Of a session, at least 2; the oldest go first. Default 200. */
  readonly maxRequests?: number
  /** Of a session, in UTF-8 bytes of JSON, at least 16 KiB; the oldest go first. Default 4 MiB. */
  readonly maxBytes?: number
  /** A request is gone at the latest so long after it was sent, and may be gone after half of it. Default 30 days, at most ten years. */
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
