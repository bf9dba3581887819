export { migratePostgres, postgresStore } from './stores/postgres/postgres-store.ts'
export type { PostgresOptions, PostgresStoreOptions } from './stores/postgres/postgres-options.ts'
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from './stores/postgres/pool-types.ts'
