export { defineServerConfig } from './server-config.ts'
export type { LogLevel, LogOptions, ServerConfig, SocketLimits } from './server-config.ts'
