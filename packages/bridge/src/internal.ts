// For the other packages of Bowline. Users should not import it: any version except a patch may change it.
export { httpHandler, serverFactory } from './mcp/server.ts'
