import { createServer, type Server } from '../create-server.ts'
import type { ServerOptions } from '../options.ts'

export type NodeServerOptions = ServerOptions

/** `createServer` with the parts that need Node. */
export function createNodeServer(options: NodeServerOptions): Server {
  return createServer(options)
}
