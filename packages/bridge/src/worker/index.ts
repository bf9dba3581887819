export { serveWorker } from './serve-worker.ts'
export type { ServeWorkerOptions } from './serve-worker.ts'
