import { PostgresStore } from '@mastra/pg'
import type { DurableContender } from '../../src/contender.ts'
import { openDurable } from './mastra-durable.ts'

/** Same as on SQLite, on Postgres. */
export const contender: DurableContender = {
  open: (answers, url) => openDurable(answers, new PostgresStore({ id: 'benchmark', connectionString: url })),
}
