export { kvStateStore } from './stores/kv/kv-state-store.ts'
export type { KvStateStoreOptions } from './stores/kv/kv-state-store.ts'
