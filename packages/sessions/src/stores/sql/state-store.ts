import type { SearchQuery, StateStore, TimeToLive } from '../../contract/state-store.ts'
import { checkPlace, checkSearchQuery, checkTimeToLive, textOfValue } from '../../contract/check-state.ts'
import type { WordIndex } from './dialect.ts'
import type { Steps } from './statement.ts'
import { countStates, createState, deleteState, findStates, listStates, readState, replaceState, sweepStates, touchState } from './state.ts'

type Run = <T>(makeSteps: () => Steps<T>) => T | Promise<T>

/** Runs steps on a database, synchronously or not. Rejects with errors of the store. */
export interface StateDriver {
  readonly namespace: string
  /** Time of the store, if the clock of this process is its clock. Null: the server's clock is. */
  readonly now: () => number | null
  /** Runs one writing statement. Reads after it see what is stored by then. */
  readonly statement: Run
  readonly read: Run
}

/** Creates a state store over a SQL driver. `driver` throws if the database is not open. */
export function sqlStateStore(driver: () => StateDriver, maxRecordBytes: number, index: WordIndex): StateStore {
  /** Runs a write at the time of the store, by the clock that all its processes share. */
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
    async compareAndSet(space, id, expected, value, { ttlMs, searchable }) {
      checkPlace(space, id)
      checkTimeToLive(ttlMs)
      const text = textOfValue(value, maxRecordBytes)
      return write((namespace, now) => {
        const indexed = { group: searchable?.group ?? null, words: searchable?.words.join(' ') ?? null }
        const row = { namespace, space, id, value: text, now, ttlMs: msOf(ttlMs), ...indexed }
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
    search: {
      kind: index.kind,
      async find(space, query: SearchQuery) {
        checkPlace(space, 'any')
        checkSearchQuery('query', query)
        const { group, words, limit } = query
        return read((namespace, now) =>
          findStates({ namespace, space, now, group, limit }, words.length === 0 ? undefined : index.queryFor(group, words)),
        )
      },
      async count(space, group) {
        checkPlace(space, 'any')
        return read((namespace, now) => countStates({ namespace, space, now, group }))
      },
    },
  }
}

function msOf(ttlMs: TimeToLive): number | null {
  return ttlMs === 'never' ? null : ttlMs
}
