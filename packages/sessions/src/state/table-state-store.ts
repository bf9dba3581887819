import type { JSONValue } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { copyJson } from '../json.ts'
import { compareIds, pageLimit, pageOf } from '../contract/paging.ts'
import type { CasResult, StateRead, StateStore, TimeToLive, Versioned } from '../contract/state-store.ts'
import { checkPlace, checkTimeToLive, textOfValue } from '../contract/check-state.ts'
import type { StateChange, StateTable } from './state-table.ts'

export interface TableStateStoreOptions {
  readonly table: StateTable
  readonly now: () => number
  readonly maxRecords?: number
  readonly maxRecordBytes?: number
  /** Stores the changes of one step before they take effect. If it throws, nothing has changed. */
  readonly keep?: (changes: readonly StateChange[]) => void
}

/** Implements versions, time to live and order of records on a table in memory. */
export function tableStateStore(options: TableStateStoreOptions): StateStore {
  const { table, now, maxRecords = Infinity, maxRecordBytes = Infinity, keep } = options

  function change(changes: readonly StateChange[]): void {
    if (changes.length === 0) return
    keep?.(changes)
    for (const each of changes) table.apply(each)
  }
  const isLive = ({ expiresAt }: Versioned): boolean => expiresAt === 'never' || expiresAt > now()
  function live(space: string, id: string): Versioned | undefined {
    checkPlace(space, id)
    const record = table.find(space, id)
    return record && isLive(record) ? record : undefined
  }
  const lifeOf = (ttlMs: TimeToLive): NonNullable<StateChange['life']> => {
    const usedAt = now()
    return { usedAt, expiresAt: ttlMs === 'never' ? 'never' : usedAt + ttlMs }
  }
  function sweep(limit: number): number {
    const over: StateChange[] = []
    for (const [space, id, record] of table.records()) {
      if (over.length >= limit) break
      if (!isLive(record)) over.push({ space, id, version: record.version })
    }
    change(over)
    return over.length
  }
  function makeRoom(): void {
    if (table.size < maxRecords) return
    sweep(Infinity)
    if (table.size >= maxRecords)
      throw new SessionError('store-full', `The limit of ${maxRecords} records of the state store is reached. Delete records.`)
  }

  return {
    async get(space, id): Promise<StateRead> {
      checkPlace(space, id)
      const record = table.find(space, id)
      if (!record) return { status: 'missing' }
      if (!isLive(record)) return { status: 'expired', at: Number(record.expiresAt) }
      return { status: 'found', value: copyJson(record) }
    },
    async compareAndSet(space, id, expected, value, { ttlMs }) {
      checkTimeToLive(ttlMs)
      const text = textOfValue(value, maxRecordBytes)
      const current = live(space, id)
      if ((current?.version ?? null) !== expected) return refusal(current)
      if (!table.find(space, id)) makeRoom()
      const version = table.lastVersion(space, id) + 1
      change([{ space, id, version, life: lifeOf(ttlMs), value: JSON.parse(text) as JSONValue }])
      return { ok: true, version }
    },
    async touch(space, id, ttlMs) {
      checkTimeToLive(ttlMs)
      const current = live(space, id)
      if (current) change([{ space, id, version: current.version, life: lifeOf(ttlMs) }])
      return current !== undefined
    },
    async delete(space, id, expected) {
      const current = live(space, id)
      if (!current || (expected !== undefined && current.version !== expected)) return refusal(current)
      const { version } = current
      change([{ space, id, version }])
      return { ok: true, version }
    },
    async list(space, { prefix = '', limit, page }) {
      checkPlace(space, 'any')
      const most = pageLimit(limit)
      const found: (Versioned & { readonly id: string })[] = []
      for (const [id, record] of table.from(space, page === undefined || compareIds(page, prefix) < 0 ? prefix : page)) {
        if (!id.startsWith(prefix) || found.length > most) break
        if (id !== page && isLive(record)) found.push({ id, ...copyJson(record) })
      }
      return pageOf(found, most, (last) => last.id)
    },
    sweep: async (limit) => sweep(limit),
    close: async () => undefined,
  }
}

function refusal(current: Versioned | undefined): CasResult {
  return current ? { ok: false, reason: 'conflict', current: copyJson(current) } : { ok: false, reason: 'missing' }
}
