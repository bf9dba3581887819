import type { StateStore, TimeToLive } from '../../contract/state-store.ts'
import { checkPlace, checkTimeToLive, textOfValue } from '../../contract/check-state.ts'
import type { SqlDriver } from './driver.ts'
import type { Steps } from './statement.ts'
import { createState, deleteState, listStates, readState, replaceState, sweepStates, touchState } from './state.ts'

/** The part of the SQL driver that a state store uses. */
export type StateDriver = Pick<SqlDriver, 'namespace' | 'now' | 'statement' | 'read'>

/** Creates a state store over a SQL driver. `driver` throws if the database is not open. */
export function sqlStateStore(driver: () => StateDriver, maxRecordBytes: number): StateStore {
  /** By the one clock of all who share the database. */
  async function write<T>(steps: (namespace: string, now: number | null) => Steps<T>): Promise<T> {
    const open = driver()
    return open.statement(() => steps(open.namespace, open.now()))
  }
  async function read<T>(steps: (namespace: string, now: number | null) => Steps<T>): Promise<T> {
    const open = driver()
    return open.read(() => steps(open.namespace, open.now()))
  }

  return {
    async get(space, id) {
      checkPlace(space, id)
      return read((namespace, now) => readState({ namespace, space, id, now }))
    },
    async compareAndSet(space, id, expected, value, { ttlMs }) {
      checkPlace(space, id)
      checkTimeToLive(ttlMs)
      const text = textOfValue(value, maxRecordBytes)
      return write((namespace, now) => {
        const row = { namespace, space, id, value: text, now, ttlMs: msOf(ttlMs) }
        return expected === null ? createState(row) : replaceState({ ...row, expected })
      })
    },
    async touch(space, id, ttlMs) {
      checkPlace(space, id)
      checkTimeToLive(ttlMs)
      return write((namespace, now) => touchState({ namespace, space, id, now, ttlMs: msOf(ttlMs) }))
    },
    async delete(space, id, expected) {
      checkPlace(space, id)
      return write((namespace, now) => deleteState({ namespace, space, id, now }, expected))
    },
    async list(space, query) {
      checkPlace(space, 'any')
      return read((namespace, now) => listStates({ namespace, space, now }, query))
    },
    sweep: (limit) => write((namespace, now) => sweepStates({ namespace, now, limit })),
    close: async () => undefined,
  }
}

function msOf(ttlMs: TimeToLive): number | null {
  return ttlMs === 'never' ? null : ttlMs
}
