export { createNodeServer, type NodeServerOptions } from './create-node-server.ts'
export { serve, type RunningServer, type ServeOptions } from './serve.ts'
