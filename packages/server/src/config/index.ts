export { defineServerConfig } from './server-config.ts'
export type { LogLevel, LogOptions, ServerConfig } from './server-config.ts'
export type { SocketLimits } from '../limits.ts'
