import type { OpenableStateStore } from '../../contract/state-store.ts'
import { openableStateStore } from '../../state/openable-state-store.ts'
import { openStates } from './open-database.ts'
import { postgresWordIndex } from './postgres-dialect.ts'
import { checkedStateOptions, maxRecordBytes } from './postgres-options.ts'
import type { PostgresStateStoreOptions } from './postgres-options.ts'

/**
 * Keeps state records in Postgres, for many processes, without a runtime. They are those of `postgresStore(…).state` of a runtime with
 * the same database, schema and namespace.
 */
export function postgresStateStore(options: PostgresStateStoreOptions = {}): OpenableStateStore {
  const complete = checkedStateOptions(options)
  return openableStateStore('Postgres', postgresWordIndex.kind, () => openStates(complete, maxRecordBytes))
}
