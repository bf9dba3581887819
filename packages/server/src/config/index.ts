export { defineServerConfig } from './server-config.ts'
export type { BridgeAgents, LogLevel, LogOptions, RequestOptions, ServerConfig } from './server-config.ts'
export type { SocketLimits } from '../limits.ts'
