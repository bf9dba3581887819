import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { configChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import { forwardedState } from '../contract/checked-calls.ts'
import type { StateStore } from '../contract/state-store.ts'
import { StateTable } from './state-table.ts'
import { tableStateStore } from './table-state-store.ts'

/** Limit and clock of a state store in memory. */
export interface MemoryStateStoreOptions {
  /** Maximum number of records. More are refused with `store-full`. Default: no limit. */
  readonly maxRecords?: number
  /** Clock for expiry. Default: the system clock. */
  readonly clock?: Pick<Clock, 'now'>
}

const checkOptions = configChecks.optionalRecord<MemoryStateStoreOptions>({
  maxRecords: (path, value) => {
    if (value !== Infinity) configChecks.checkWhole(path, value, 1)
  },
  clock: configChecks.methods('now'),
})

/**
 * Creates a state store that keeps records in memory: they are lost with the process. It is the reference for other state stores.
 * Throws `invalid-config`.
 */
export function memoryStateStore(options: MemoryStateStoreOptions = {}): StateStore {
  checkOptions('memoryStateStore.options', options)
  const { maxRecords = Infinity, clock = systemClock } = options
  const store = tableStateStore({ table: new StateTable(), now: () => clock.now(), maxRecords })
  let closed = false

  function open(): StateStore {
    if (closed) throw new SessionError('store-unavailable', 'The memory state store is closed. Create another one.')
    return store
  }
  return {
    ...forwardedState(open),
    async close() {
      closed = true
    },
  }
}
