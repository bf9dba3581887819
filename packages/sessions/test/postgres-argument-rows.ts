import { manualClock } from '@bowline/llm/testing'
import { migratePostgres, postgresStateStore, postgresStore } from '@bowline/sessions/postgres'
import { boolean, func, made, needed, object, options, whole } from '../../../scripts/argument-table.ts'
import type { ShapedRow } from '../../../scripts/argument-table.ts'

// Nothing listens there.
const url = 'postgresql://127.0.0.1:1/none'
const isUrl = (value: unknown): boolean => typeof value === 'string' && /^postgres(ql)?:\/\/./.test(value)

const server = {
  connectionString: needed({ good: url, accepts: isUrl }),
  pool: { good: undefined, accepts: (value: unknown) => value === undefined },
  schema: {
    good: 'own',
    accepts: (value: unknown) => value === undefined || (typeof value === 'string' && /^[a-z_][a-z0-9_]{0,62}$/.test(value)),
  },
}

/** Rows of the functions that need a Postgres server. */
export const postgresRows: Readonly<Record<string, ShapedRow>> = {
  postgresStore: {
    args: [
      [
        '',
        options(
          {
            ...server,
            directConnectionString: { good: url, accepts: (value) => value === undefined || isUrl(value) },
            listen: { good: true, accepts: (value) => value === undefined || typeof value === 'boolean' },
            migrate: boolean,
            poolSize: whole(1, 1, 1000),
            onWarning: func(),
            clock: made(manualClock()),
          },
          false,
        ),
      ],
    ],
    call: postgresStore,
  },
  postgresStateStore: {
    args: [
      [
        '',
        options({
          ...server,
          namespace: {
            good: 'own',
            accepts: (value) => value === undefined || (typeof value === 'string' && /^[a-z0-9][a-z0-9_-]{0,62}$/.test(value)),
          },
          migrate: boolean,
          poolSize: whole(1, 1, 1000),
          onWarning: func(),
          clock: made(manualClock()),
          environment: object({}),
        }),
      ],
    ],
    call: postgresStateStore,
  },
  migratePostgres: { args: [['', options(server, false)]], call: migratePostgres },
}
