import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { forwardedState } from '../stores/forwarded-state.ts'
import type { StateStore } from './contract.ts'
import { StateTable } from './state-table.ts'
import { tableStateStore } from './table-state-store.ts'

export interface MemoryStateStoreOptions {
  /** A record beyond these is refused with `store-full`. Default: no limit. */
  readonly maxRecords?: number
  readonly clock?: Pick<Clock, 'now'>
}

/** Keeps records as long as the process lives. The reference for what other providers must do. */
export function memoryStateStore({ maxRecords = Infinity, clock = systemClock }: MemoryStateStoreOptions = {}): StateStore {
  if (!(maxRecords >= 1)) throw new SessionError('invalid-config', 'maxRecords must be at least 1.')
  const store = tableStateStore({ table: new StateTable({ forgetsIds: true }), now: () => clock.now(), maxRecords })
  let closed = false

  function open(): StateStore {
    if (closed) throw new SessionError('store-unavailable', 'The memory state store is closed.')
    return store
  }
  return {
    ...forwardedState(open),
    async close() {
      closed = true
    },
  }
}
