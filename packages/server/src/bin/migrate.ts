import { nameStore } from '../config/store-choice.ts'
import type { CommandCall, Outcome } from './command.ts'
import { loadPostgres } from './create-store.ts'
import { readConfig } from './read-config.ts'
import { sharedRateLimits } from './shared-rate-limits.ts'

/**
 * Migrates a Postgres database before a deployment, as a user with more rights than the servers have. Stores of one process migrate
 * when they are opened.
 */
export async function migrate(call: CommandCall): Promise<Outcome> {
  const { store } = await readConfig(call, [])
  if (store.kind !== 'postgres') {
    await call.print(`${nameStore(store)} needs no migration: the server does it when it opens the store`)
    return 'done'
  }
  const { migratePostgres } = await loadPostgres()
  await migratePostgres({ connectionString: store.connectionString })
  const limits = await sharedRateLimits(store.connectionString)
  try {
    await limits.makeTable()
  } finally {
    await limits.close()
  }
  await call.print(`${nameStore(store)} has the tables of this version`)
  return 'done'
}
