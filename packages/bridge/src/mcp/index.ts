export type { BridgeUser } from './bridge-view.ts'
export { createBridgeMcpServer } from './server.ts'
