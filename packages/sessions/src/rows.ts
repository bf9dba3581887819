import { configChecks } from './arguments.ts'
import type { SessionStore } from './contract/session-store.ts'
import type { StateStore } from './contract/state-store.ts'
import { coreStore } from './core/core-store.ts'
import type { RowStore } from './rows/contract.ts'
export type { Answer, Change, Filter, Id, Read, Row, RowStore, Scan, Table, Value, Write } from './rows/contract.ts'
export { memoryRows } from './rows/memory-rows.ts'
export { numberColumns, tables } from './rows/tables.ts'

/** Parts of a session store besides its rows. */
export interface SessionStoreOptions {
  /**
   * Detection of a lost run. `lease`: its lease has ended. `owner`: another process has opened the rows, which only one process at a
   * time may do.
   */
  readonly loss: 'lease' | 'owner'
  /** Small records of the same namespace. */
  readonly state: StateStore
}

const { checkRequired, oneOf, record, required } = configChecks
/** Returns a check of objects: they must have this method. */
const has =
  (method: string) =>
  (given: unknown): boolean =>
    typeof given === 'object' && given !== null && method in given

const checkOptions = record<SessionStoreOptions>({
  loss: required(oneOf('lease', 'owner')),
  state: (path, value) => checkRequired(path, value, 'a state store', has('compareAndSet')),
})

/** Creates a session store over these rows. It keeps every promise of a session store; the rows keep those of `RowStore`. */
export function createSessionStore(rows: RowStore, options: SessionStoreOptions): SessionStore {
  checkRequired('rows', rows, 'a row store', has('write'))
  checkOptions('createSessionStore.options', options)
  return coreStore(rows, options)
}
