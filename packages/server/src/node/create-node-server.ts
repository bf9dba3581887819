import { createServer, type Server } from '../create-server.ts'
import type { ServerOptions } from '../options.ts'
import { flexibleRateLimiter } from './flexible-rate-limiter.ts'

export type NodeServerOptions = ServerOptions

/** `createServer` with the parts that need Node: rate limits, counted in memory. With auth 'none' only this machine calls, and it is not counted. */
export function createNodeServer(options: NodeServerOptions): Server {
  const counted = options.auth === 'none' ? {} : { rateLimiter: flexibleRateLimiter() }
  return createServer({ ...counted, ...options })
}
