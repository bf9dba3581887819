import { randomUUID } from 'node:crypto'
import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { configChecks } from '../../arguments.ts'
import type { OpenableStateStore } from '../../contract/state-store.ts'
import { checkNamespace } from '../../keys.ts'
import { openableStateStore } from '../../state/openable-state-store.ts'
import { sqliteWordIndex } from '../sql/dialect.ts'
import { sqliteOptionChecks, sqliteStore } from './sqlite-store.ts'
import type { SqliteStoreOptions } from './sqlite-rows.ts'

/** File, namespace and clock of a SQLite state store. */
export interface SqliteStateStoreOptions extends SqliteStoreOptions {
  /** Namespace of the records; others are invisible. Default `default`, like a runtime. */
  readonly namespace?: string
  /** Clock of the records. Default: the system clock. */
  readonly clock?: Clock
}

const checkOptions = configChecks.record<SqliteStateStoreOptions>({
  ...sqliteOptionChecks,
  namespace: configChecks.optional((_path, value) => checkNamespace(value as string)),
  clock: configChecks.methods('now', 'setTimer'),
})

/**
 * Creates a state store in one SQLite file, without a runtime. One process at a time. If a runtime of this process has the
 * file open, use `runtime.store.state`. Throws `invalid-config`.
 */
export function sqliteStateStore(options: SqliteStateStoreOptions): OpenableStateStore {
  checkOptions('sqliteStateStore.options', options)
  const { namespace = 'default', clock = systemClock, ...given } = options
  const store = sqliteStore(given)
  return openableStateStore('SQLite', sqliteWordIndex.kind, async () => {
    await store.open({ namespace, clock, owner: randomUUID() })
    return { state: store.state, close: () => store.close() }
  })
}
