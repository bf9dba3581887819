export { sqliteStore } from './stores/sqlite/sqlite-store.ts'
export { sqliteStateStore } from './stores/sqlite/sqlite-state-store.ts'
export type { SqliteStateStoreOptions } from './stores/sqlite/sqlite-state-store.ts'
export type { SqliteStoreOptions } from './stores/sqlite/sqlite-rows.ts'
