export { createNodeServer, type NodeServerOptions } from './create-node-server.ts'
export { flexibleRateLimiter, type FlexibleLimiterOptions } from './flexible-rate-limiter.ts'
export { serve, type RunningServer, type ServeOptions } from './serve.ts'
