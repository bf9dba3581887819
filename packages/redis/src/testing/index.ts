export { startKvServer } from './kv-server.ts'
export type { KvServer } from './kv-server.ts'
export type { KvFault, KvServerOptions } from './kv-server/types.ts'
