export { createNodeServer, type NodeServerOptions } from './create-node-server.ts'
export { guardedDownload, type GuardedDownloadOptions } from './guarded-download.ts'
export { tracedRuns } from './traced-runs.ts'
export { serve, type RunningServer, type ServeOptions } from './serve.ts'
