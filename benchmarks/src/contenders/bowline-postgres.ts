import { postgresStore } from '@bowline/postgres'
import type { DurableContender } from '../contender.ts'
import { openRuntime } from './bowline-durable.ts'

/** Same as on SQLite, on Postgres. */
export const contender: DurableContender = {
  open: (answers, url) => openRuntime(answers, postgresStore({ connectionString: url })),
}
