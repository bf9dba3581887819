export { sqliteStore } from './stores/sqlite/sqlite-store.ts'
export type { SqliteStoreOptions } from './stores/sqlite/sqlite-store.ts'
