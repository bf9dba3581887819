import { definedFields, type ArgumentCheck } from '@bowline/llm/arguments'
import type { Registry } from 'prom-client'
import { configChecks, methods } from '../arguments.ts'
import { checkServerOptions } from '../check-options.ts'
import { createServer, type Server } from '../create-server.ts'
import type { FileDownload } from '../execute/file-download.ts'
import type { ServerOptions } from '../options.ts'
import { guardedDownload } from './guarded-download.ts'

/** Options of `createServer` with defaults for Node. */
export interface NodeServerOptions extends Omit<ServerOptions, 'download'> {
  /** Default: `guardedDownload()`. False: files given by their address are refused. */
  readonly download?: FileDownload | false
  /** Prometheus registry for `/metrics`, unless `metrics` is given. Default: a new one. */
  readonly registry?: Registry
}

/**
 * Creates a server with the parts that need Node: rate limits in memory, guarded downloads from public addresses, JSON lines on
 * stdout, and Prometheus metrics. With auth `none` it does not count requests for rate limits. Loads the code of a part if the
 * part is not given. Rejects with `invalid-config`.
 */
export async function createNodeServer(options: NodeServerOptions): Promise<Server> {
  checkServerOptions(options, { download: orFalse(checkFunction), registry: methods('metrics', 'registerMetric') })
  const { registry, download = guardedDownload(), ...given } = definedFields(options)
  const parts: ServerOptions = {
    ...(given.auth !== 'none' && !given.rateLimiter && { rateLimiter: (await import('./rate-limiters.ts')).flexibleRateLimiter() }),
    ...(download !== false && { download }),
    logger: given.logger ?? (await import('./pino-logger.ts')).pinoLogger(),
    ...given,
  }
  if (given.metrics) return createServer(parts)
  const { prometheusMetrics } = await import('./prometheus/prometheus-metrics.ts')
  const metrics = prometheusMetrics(registry ? { registry } : {})
  const server = createServer({ ...parts, metrics })
  return { ...server, close: (closeOptions) => server.close(closeOptions).finally(() => metrics.close()) }
}

const { checkFunction } = configChecks

const orFalse =
  (check: ArgumentCheck): ArgumentCheck =>
  (path, value) => {
    if (value !== false) check(path, value)
  }
