import { manualClock } from '@bowline/llm/testing'
import { migratePostgres, postgresStore } from '@bowline/sessions/postgres'
import { boolean, func, made, needed, options, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow } from '../../../scripts/argument-table.ts'

const server = {
  // Nobody listens there.
  connectionString: needed({ good: 'postgresql://127.0.0.1:1/none', accepts: (value) => typeof value === 'string' && /^postgres(ql)?:\/\/./.test(value) }),
  pool: { good: undefined, accepts: (value: unknown) => value === undefined },
  schema: { good: 'own', accepts: (value: unknown) => value === undefined || (typeof value === 'string' && /^[a-z_][a-z0-9_]{0,62}$/.test(value)) },
}

/** Of the functions that need a Postgres server. */
export const postgresRows: Readonly<Record<string, ShapedRow>> = {
  postgresStore: {
    args: [['', options({ ...server, migrate: boolean, poolSize: whole(1, 1, 1000), onWarning: func(), clock: made(manualClock()) }, false)]],
    call: postgresStore,
  },
  migratePostgres: { args: [['', options(server, false)]], call: migratePostgres },
}
