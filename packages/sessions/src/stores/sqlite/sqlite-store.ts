import { configChecks } from '../../arguments.ts'
import { checkedStateStore } from '../../contract/checked-calls.ts'
import type { SessionStore } from '../../contract/session-store.ts'
import { coreStore } from '../../core/core-store.ts'
import { SessionError } from '../../errors.ts'
import { sqliteRows } from './sqlite-rows.ts'
import type { SqliteStoreOptions } from './sqlite-rows.ts'

/** Longest wait that SQLite supports, in ms. */
const longestBusyMs = 2 ** 31 - 1

export const sqliteOptionChecks = {
  file: configChecks.checkName,
  synchronous: configChecks.oneOf('full', 'normal'),
  busyTimeoutMs: configChecks.whole(0, longestBusyMs),
} as const

const checkEach = configChecks.record<SqliteStoreOptions>(sqliteOptionChecks)

function checkOptions(options: SqliteStoreOptions): void {
  configChecks.checkRequired(
    'sqliteStore.options',
    options,
    'an object, { file }',
    (given) => given !== undefined && typeof given !== 'string',
  )
  checkEach('sqliteStore.options', options)
}

/**
 * Creates a session store in one SQLite file. One process at a time: a second `open` rejects with `store-locked`. A commit
 * resolves after fsync unless `synchronous` is `normal`. Throws `invalid-config`, also for `:memory:`.
 */
export function sqliteStore(options: SqliteStoreOptions): SessionStore {
  checkOptions(options)
  if (options.file === ':memory:') {
    throw new SessionError(
      'invalid-config',
      'sqliteStore needs the name of a file; received ":memory:". Use memoryStore() to keep sessions in memory',
    )
  }
  const rows = sqliteRows(options)
  return coreStore(rows, { loss: 'owner', state: checkedStateStore(rows.state) })
}
