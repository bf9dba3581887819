export { createBridgeMcpServer } from './server.ts'
