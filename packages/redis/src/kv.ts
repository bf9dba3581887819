export { kvStateStore } from './kv/kv-state-store.ts'
export type { KvStateStoreOptions } from './kv/kv-state-store.ts'
