export type { BridgeUser } from './bridge-view.ts'
export type { BridgeMcpHandlerOptions } from './server.ts'
export { createBridgeMcpHandler, createBridgeMcpServer } from './server.ts'
