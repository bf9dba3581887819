import { createRedaction, systemClock } from '@bowline/llm'
import { definedFields, type FieldChecks } from '@bowline/llm/arguments'
import { inputChecks } from './arguments.ts'
import { authFaults, type Auth } from './auth/auth.ts'
import { Authenticator } from './auth/authenticator.ts'
import { checkAuth } from './auth/check-auth.ts'
import { Tickets } from './auth/tickets.ts'
import { checkServerOptions } from './check-options.ts'
import { limitDownloads } from './execute/limit-downloads.ts'
import { createApp } from './http/app.ts'
import type { Peer } from './http/caller.ts'
import { faultOf } from './http/fault.ts'
import { defaultLimits, type SocketLimits } from './limits.ts'
import { createMcpService } from './mcp/mcp-service.ts'
import { observerOf } from './observe/observer-of.ts'
import { redactingLogger } from './observe/redacting-logger.ts'
import { consoleLogger, defaultDrainMs, defaultHeartbeatMs, systemServerIds, type ServerOptions } from './options.ts'
import { problemBody } from './problems.ts'
import { RateLimits } from './rate/rate-limits.ts'
import { RunningRuns } from './rate/running-runs.ts'
import { allRoutes } from './routes/all-routes.ts'
import { ServerError } from './server-error.ts'
import type { Services } from './services.ts'
import { OpenStreams } from './sse/open-streams.ts'
import { toProblemError } from './to-problem-error.ts'

/** Server as a `fetch` handler. It listens on no port: `serve` of `./node` or the platform does that. */
export interface Server {
  /**
   * Answers one request. Rejects only if an argument has the wrong type. `peer` comes from the transport, as in
   * `fetch(request, { remoteAddress })`. Without it no request counts as local, so that `auth: 'none'` refuses all.
   */
  fetch(request: Request, peer?: Peer): Promise<Response>
  /**
   * Refuses new work, lets open streams finish for `drainMs` (default 25,000 ms), ends the rest so that their readers reconnect
   * elsewhere, and stops the runtime. Reads are answered until then. Repeated calls return the same promise.
   */
  close(options?: CloseOptions): Promise<void>
  /** True without authentication: the server must then listen on a loopback address only. */
  readonly loopbackOnly: boolean
  /** Limits that `serve` enforces at the socket. */
  readonly socketLimits: Required<SocketLimits>
  /**
   * Replaces the authentication without a restart. Streams of callers that are no longer valid, or whose rights have changed, end
   * with `token-expired`. If the configuration is invalid, rejects and changes nothing.
   */
  reload(auth: Auth): Promise<void>
}

/** Drain time of a closing server. */
export interface CloseOptions {
  /** Time for open streams to finish, in milliseconds. Default 25,000. */
  readonly drainMs?: number
}

/**
 * Creates an HTTP and SSE server for a runtime, as a `fetch` handler for any platform. It stores no conversation: every process on
 * the same store serves every session. Throws a `ServerError` with code `invalid-config`.
 */
export function createServer(options: ServerOptions): Server {
  const trustedProxies = checkServerOptions(options)
  const { auth, runtime, clock = systemClock, ids = systemServerIds, basePath = '' } = options
  const redaction = createRedaction(options.redact)
  const logger = redactingLogger(options.logger ?? consoleLogger, redaction)
  const limits = { ...defaultLimits, ...definedFields(options.limits ?? {}) }
  const heartbeatMs = options.heartbeatMs ?? defaultHeartbeatMs
  const streams = new OpenStreams({ clock, heartbeatMs, limits, redaction })
  const authenticator = new Authenticator(auth, clock)
  const tickets = new Tickets(() => runtime.store.state, clock)
  const rateLimits = new RateLimits({
    create: options.rateLimiter,
    limits,
    clock,
    onFault: (error) => logger.error(faultOf(error), 'the rate limiter failed'),
  })
  const runningRuns = new RunningRuns({ runtime, limit: limits.runsPerTenant, clock })
  const onFault = (error: unknown): void =>
    logger.error({ ...faultOf(error), reason: String(error) }, 'the bridge cannot be served over MCP')
  const mcp = options.bridge && createMcpService(options.bridge, { mayUse: options.mayUse, heartbeatMs, onFault })
  const observer = observerOf(options, logger, redaction)
  let closing: Promise<void> | undefined
  const isDraining = (): boolean => closing !== undefined
  const services: Services = {
    runtime,
    orchestration: options.orchestration,
    agents: options.agents ?? {},
    defaultAgent: options.defaultAgent,
    limits,
    clock,
    ids,
    streams,
    redaction,
    rateLimits,
    runningRuns,
    download: options.download && limitDownloads(options.download),
    tickets,
    requests: options.requests,
    mcp,
    metrics: options.metrics,
    isDraining,
    streamError(error, { request, requestId: id }) {
      logger.error({ requestId: id, ...faultOf(error) }, 'a stream broke')
      return { type: 'stream-error', problem: problemBody(toProblemError(error), { path: new URL(request.url).pathname, id }, redaction) }
    },
  }
  const loopbackOnly = auth === 'none'
  const app = createApp({
    routes: allRoutes(services, basePath, options.routes),
    basePath,
    rules: { hosts: options.hosts ?? [], origins: options.cors?.origins ?? [], loopbackOnly },
    trustedProxies,
    cors: options.cors,
    pipeline: { authenticator, tickets, rateLimits, limits, isDraining, observer, clock },
    clock,
    ids,
    observer,
    redaction,
  })
  /** Gives the runs back, also if the rest cannot be closed. */
  async function shutDown(drainMs: number): Promise<void> {
    try {
      await streams.drain(drainMs)
      await mcp?.close()
    } finally {
      await runtime.stop().finally(() => runningRuns.close())
    }
  }
  return {
    async fetch(request, peer) {
      checkFetch(request, peer)
      return app.fetch(request, { peer })
    },
    async close(given = {}) {
      inputChecks.checkFields('options', given, closeChecks)
      const { drainMs = defaultDrainMs } = given
      closing ??= shutDown(drainMs)
      return closing
    },
    loopbackOnly,
    socketLimits: limits,
    async reload(next) {
      checkAuth('auth', next)
      const moved = (next === 'none') === loopbackOnly ? [] : ["auth cannot change to or from 'none' while the server runs: restart it"]
      const faults = [...authFaults(next), ...moved]
      if (faults.length > 0) throw new ServerError('invalid-config', faults.join('; '))
      authenticator.replace(next)
      tickets.revokeAll()
      await streams.recheck((principal) => authenticator.stillKnows(principal))
    },
  }
}

const closeChecks: FieldChecks<CloseOptions> = { drainMs: (path, value) => inputChecks.checkNumber(path, value, 0) }

const peerChecks: FieldChecks<Peer> = { remoteAddress: inputChecks.checkText, localAddress: inputChecks.checkText }

function checkFetch(request: unknown, peer: unknown): void {
  inputChecks.checkRequired('request', request, 'a Request', isRequest)
  inputChecks.checkFields('peer', peer, peerChecks)
}

/** Accepts a Request of another implementation too. */
function isRequest(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'url' in value && 'method' in value && 'headers' in value
}
