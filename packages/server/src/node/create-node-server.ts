import type { Registry } from 'prom-client'
import { createServer, type Server } from '../create-server.ts'
import type { ServerOptions } from '../options.ts'
import { flexibleRateLimiter } from './flexible-rate-limiter.ts'
import { pinoLogger } from './pino-logger.ts'
import { prometheusMetrics } from './prometheus/prometheus-metrics.ts'

export interface NodeServerOptions extends ServerOptions {
  /** Where the figures are kept that `/metrics` gives, unless `metrics` is given. Default: one of its own. */
  readonly registry?: Registry
}

/**
 * `createServer` with the parts that need Node: rate limits, counted in memory; lines of JSON on the standard output; and
 * figures for Prometheus. With auth 'none' only this machine calls, and it is not counted.
 */
export function createNodeServer({ registry, ...options }: NodeServerOptions): Server {
  const counted = options.auth === 'none' ? {} : { rateLimiter: flexibleRateLimiter() }
  const logger = options.logger ?? pinoLogger()
  if (options.metrics) return createServer({ ...counted, ...options, logger })
  const metrics = prometheusMetrics(registry ? { registry } : {})
  const server = createServer({ ...counted, ...options, logger, metrics })
  return { ...server, close: (closeOptions) => server.close(closeOptions).finally(() => metrics.close()) }
}
