import type { Agent } from '@bowline/agent-loop'
import { createRuntime, type Runtime, type RuntimeOptions, type SessionStore } from '@bowline/sessions'
import type { ResolvedConfig, WholeConfig } from '../config/resolve-config.ts'
import type { Server } from '../create-server.ts'
import { faultOf } from '../http/fault.ts'
import { createNodeServer } from '../node/create-node-server.ts'
import { endOnCrash } from '../node/end-on-crash.ts'
import { pinoLogger, type FlushedLogger } from '../node/pino-logger.ts'
import { prometheusMetrics, type PrometheusMetrics } from '../node/prometheus/prometheus-metrics.ts'
import { serve, type RunningServer } from '../node/serve.ts'
import { closeOnSignals } from '../node/signals.ts'
import { tracedRuns } from '../node/traced-runs.ts'
import type { CommandCall, Outcome } from './command.ts'
import { createAgentsBridge, stoppedAfter } from './create-bridge.ts'
import { createStore } from './create-store.ts'
import { engineOf, type Engine } from './placement.ts'
import { configuredAgents } from './load-agents.ts'
import { readConfig } from './read-config.ts'
import { recordedAgents } from './record-requests.ts'
import { reloadOnHangup, type ReadAuth } from './reload-on-hangup.ts'
import { serverOptions, socketOptions } from './server-options.ts'
import type { SharedRateLimits } from './shared-rate-limits.ts'

export async function start(call: CommandCall): Promise<Outcome> {
  const config = await readConfig(call, ['agents', 'auth'])
  const logger = pinoLogger({ level: config.values['log.level'] })
  endOnCrash(logger, () => logger.flush())
  const readAuth = async (version: number) => (await readConfig(call, ['agents', 'auth'], version)).auth
  const running = await startServer(config, logger, readAuth)
  closeOnSignals(async () => {
    logger.info({}, 'closing')
    await running.close({ drainMs: config.values.drainMs })
    await logger.flush()
  })
  logger.info({ url: running.url }, 'listening')
  await call.tell(`bowline-server: listening on ${running.url}`)
  return 'serving'
}

/** Starts the server. It listens last, because before that its readiness cannot be queried. */
async function startServer(config: WholeConfig<'agents' | 'auth'>, logger: FlushedLogger, readAuth: ReadAuth): Promise<RunningServer> {
  const loaded = await configuredAgents(config)
  const store = await createStore(config.store, (message) => logger.warn({}, message))
  const { agents, requests } = recordedAgents(loaded, store, config)
  const metrics = prometheusMetrics()
  const runtime = runtimeOf(agents, config, { logger, metrics, store, ...(requests && { requests }) })
  const engine = await engineOf(config.values, runtime, logger)
  const bridge =
    config.bridge && (await createAgentsBridge(config.bridge, runtime, { logger, ...(config.redact && { redact: config.redact }) }))
  const served = bridge ? { bridge, runtime: stoppedAfter(bridge, runtime) } : { runtime }
  const limits = await limitsOf(config)
  const counted = limits && { rateLimiter: limits.rateLimiter }
  const recorded = requests && { requests }
  const server = countedBy(
    limits,
    await createNodeServer({ ...serverOptions(config), ...served, ...counted, ...recorded, auth: config.auth, logger, metrics }),
  )
  await runtime.start()
  try {
    await engine?.listen()
    await limits?.makeTable()
    await bridge?.start()
    const running = await serve(server, socketOptions(config))
    reloadOnHangup(server, readAuth, logger)
    return engine ? closedWith(running, engine) : running
  } catch (error) {
    await server.close({ drainMs: 0 })
    await engine?.close()
    throw error
  }
}

/** Returns the server with a `close` that leaves the engine last, when the runs have been given back. */
function closedWith(running: RunningServer, engine: Engine): RunningServer {
  return {
    ...running,
    async close(options) {
      try {
        return await running.close(options)
      } finally {
        await engine.close()
      }
    },
  }
}

/** Returns shared limits for servers on one database. Without authentication, callers are not limited. */
async function limitsOf({ store, auth }: WholeConfig<'auth'>): Promise<SharedRateLimits | undefined> {
  if (store.kind !== 'postgres' || auth === 'none') return undefined
  const { sharedRateLimits } = await import('./shared-rate-limits.ts')
  return sharedRateLimits(store.connectionString)
}

/** Returns the server with a `close` that closes the limits last. */
function countedBy(limits: SharedRateLimits | undefined, server: Server): Server {
  return {
    ...server,
    async close(options) {
      try {
        await server.close(options)
      } finally {
        await limits?.close()
      }
    },
  }
}

interface RuntimeParts extends Pick<RuntimeOptions, 'requests'> {
  readonly logger: FlushedLogger
  readonly metrics: PrometheusMetrics
  readonly store: SessionStore
}

/** Creates the runtime with its metrics and traces. */
function runtimeOf(agents: readonly Agent[], config: ResolvedConfig, { logger, metrics, store, ...recorded }: RuntimeParts): Runtime {
  return createRuntime({
    agents,
    placement: config.values.placement === 'own' ? 'own' : 'host',
    maxRunsPerTenant: config.values['limits.runsPerTenant'],
    ...config.webhooks,
    ...recorded,
    ...tracedRuns({ store: metrics.measure(store) }),
    onError: (error, where) => logger.error({ ...where, ...faultOf(error) }, 'the runtime failed in the background'),
  })
}
