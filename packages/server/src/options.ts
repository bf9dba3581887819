import type { IdSource } from '@bowline/agent-loop'
import type { Bridge } from '@bowline/bridge'
import type { Clock, RedactConfig } from '@bowline/llm'
import type { OnBusy, Orchestration, Runtime } from '@bowline/sessions'
import type { RequestRecorder } from '@bowline/sessions/requests'
import type { Auth } from './auth/auth.ts'
import type { Principal } from './auth/principal.ts'
import type { FileDownload } from './execute/file-download.ts'
import type { Limits } from './limits.ts'
import type { AuditRecord } from './observe/audit.ts'
import type { LogOptions } from './observe/log-observer.ts'
import type { Metrics } from './observe/metrics.ts'
import type { CreateRateLimiter } from './rate/rate-limiter.ts'
import { randomSessionId } from './session-keys.ts'

/**
 * Runtime, authentication, limits and callbacks of a server. Only `runtime` and `auth` are required. Unknown keys are refused with
 * `invalid-config`.
 */
export interface ServerOptions {
  /** Runtime of the server. Its owner must start it; `close` stops it. */
  readonly runtime: Runtime
  /** Orchestration of the agents, if they have one. Session views then show the current step. */
  readonly orchestration?: Orchestration
  /**
   * Recorder of `recordRequests`. Callers with the scope `requests:read` may read recorded requests, including prompts. Default:
   * these routes do not exist.
   */
  readonly requests?: Pick<RequestRecorder, 'list' | 'get'>
  /** Authentication of callers. Required, so that no server is open by accident. */
  readonly auth: Auth
  /** Rights of clients by agent name. */
  readonly agents?: Readonly<Record<string, AgentAccess>>
  /** Agent of new sessions that name none. Default: the default agent of the runtime. */
  readonly defaultAgent?: string
  /** Bridge whose agents other programs reach over MCP. Its owner starts and stops it. Default: none, and `/mcp` does not exist. */
  readonly bridge?: Bridge
  /** Returns true if a caller may reach an agent of the bridge. Default: every caller may reach all. */
  readonly mayUse?: (principal: Principal, agentId: string) => boolean
  /** Limits of sizes, counts and rates. Default: see `Limits`. */
  readonly limits?: Limits
  /**
   * Fetches files that clients give by their address. It must refuse addresses that clients may not reach. Default: such files are
   * refused.
   */
  readonly download?: FileDownload
  /** Limiter for `requestsPerMinute`, `workPerMinute` and `authFailuresPerMinute`. Default: requests are not limited. */
  readonly rateLimiter?: CreateRateLimiter
  /** Other origins whose pages may call the server. Default: none. */
  readonly cors?: CorsOptions
  /** Host names of the server, with or without a port, in addition to loopback names and its own address. */
  readonly hosts?: readonly string[]
  /** Addresses and ranges of proxies whose `X-Forwarded-For`, `-Host` and `-Proto` are trusted. Default: none. */
  readonly trustedProxies?: readonly string[]
  /** Enables and disables groups of routes. */
  readonly routes?: RouteOptions
  /** Prefix of every route, for example `/bowline`. */
  readonly basePath?: string
  /** Silence in milliseconds after which a stream gets a comment. Default 15,000. */
  readonly heartbeatMs?: number
  /** Time and timers. Default: the system clock. */
  readonly clock?: Clock
  /** Source of ids. `session` ids must match `[A-Za-z0-9][A-Za-z0-9_-]{0,127}` and must not be guessable. */
  readonly ids?: IdSource
  /** Receives one line for each request, stream and decision. Default: the console, which gets only faults. */
  readonly logger?: Logger
  /** Content of the request log. */
  readonly log?: LogOptions
  /** Metrics for `/metrics`. Default: none, and `/metrics` does not exist. `createNodeServer` has metrics. */
  readonly metrics?: Metrics
  /** Additional secrets to remove from logs, problems, errors and spans. */
  readonly redact?: RedactConfig
  /** Receives each decision on access, runs and sessions. Default: the logger receives them, except uses of tokens. */
  readonly onAudit?: (record: AuditRecord) => void
}

/**
 * Rights of clients on one agent. A right that is not given is refused. Exceptions: `clientTools` is `declared` and every `onBusy`
 * is allowed.
 */
export interface AgentAccess {
  readonly description?: string
  /** Words by which a client chooses an agent. Default: none. */
  readonly capabilities?: readonly string[]
  /**
   * Remote tools that a client may declare for a new session. `declared` (default): those that the agent declares as remote, by
   * name. `any`: also others, which the client must answer. `none`: no tools.
   */
  readonly clientTools?: ClientTools
  /** Models that a client may select. Default: none. */
  readonly models?: readonly string[]
  /** Fields of `runtimeParams` that a client may set. Default: none. */
  readonly runtimeParams?: readonly string[]
  /** Allows a client to set the schema of the final answer of a run. Default false. */
  readonly clientOutput?: boolean
  /** Allows a client to send the first messages of a new session. Default false. */
  readonly clientHistory?: boolean
  /** Values of `onBusy` that a client may use. Default: all. */
  readonly onBusy?: readonly OnBusy[]
}

/** Switches for groups of routes. A disabled group does not exist (404). */
export interface RouteOptions {
  /** Enables the chat routes for pages that use the AI SDK. Default true. */
  readonly chat?: boolean
  /** Enables the route of the OpenAPI document. Default true. */
  readonly openapi?: boolean
  /** Enables `/metrics`, if `metrics` is set. Default true. */
  readonly metrics?: boolean
  /** Enables `/mcp`, if `bridge` is set. Default true. */
  readonly mcp?: boolean
}

/** Remote tools that a client may declare for a new session: none, those that the agent declares as remote, or any. */
export type ClientTools = 'none' | 'declared' | 'any'

/** Other origins whose pages may call the server. */
export interface CorsOptions {
  /** Exact origins, for example `https://app.example`. */
  readonly origins: readonly string[]
  /** Allows browsers to send cookies from these origins. Default false. */
  readonly credentials?: boolean
}

/** Methods of a pino logger that the server uses. */
export interface Logger {
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

/** Fields of a log line. */
export type LogFields = Readonly<Record<string, unknown>>

export const defaultHeartbeatMs = 15_000

export const defaultDrainMs = 25_000

export const systemServerIds: IdSource = {
  next: (kind) => (kind === 'session' ? randomSessionId() : `${kind}_${crypto.randomUUID()}`),
}

/** Logger that prints only faults. */
export const consoleLogger: Logger = {
  info() {},
  warn() {},
  error(fields, message) {
    // oxlint-disable-next-line no-console -- without a logger a fault must still be seen
    console.error(`bowline: ${message}`, fields)
  },
}

/** Returns the faults of the CORS options. `isOpen` is true if callers need no credentials. */
export function corsFaults(cors: CorsOptions | undefined, isOpen: boolean): readonly string[] {
  if (!cors?.origins.includes('*')) return []
  return [
    ...(cors.credentials ? ['cors: credentials need a list of origins, not "*"'] : []),
    ...(isOpen ? ['cors: with auth none the origin "*" would let in every page that is open on this machine: list origins'] : []),
  ]
}
