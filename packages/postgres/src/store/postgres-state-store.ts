import type { OpenableStateStore } from '@bowline/sessions'
import { openableStateStore } from '@bowline/sessions/store-parts'
import { openStates } from './open-database.ts'
import { postgresWordIndex } from './postgres-states.ts'
import { checkedStateOptions, maxRecordBytes } from './postgres-options.ts'
import type { PostgresStateStoreOptions } from './postgres-options.ts'

/**
 * Creates a state store on Postgres, for many processes and without a runtime. It shares its records with `postgresStore(…).state`
 * of a runtime with the same database, schema and namespace. Throws `invalid-config`.
 */
export function postgresStateStore(options: PostgresStateStoreOptions = {}): OpenableStateStore {
  const complete = checkedStateOptions(options)
  return openableStateStore('Postgres', postgresWordIndex.kind, () => openStates(complete, maxRecordBytes))
}
