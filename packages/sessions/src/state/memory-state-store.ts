import { systemClock } from '@bowline/llm'
import type { Clock, JSONValue } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { checkJson, copyJson } from '../stores/json.ts'
import { pageLimit, pageOf } from '../stores/paging.ts'
import type { CasResult, StateRead, StateStore, TimeToLive, Versioned } from './contract.ts'
import { checkPlace, checkTimeToLive, compareIds } from './ids.ts'

export interface MemoryStateStoreOptions {
  /** A record beyond these is refused with `store-full`. Default: no limit. */
  readonly maxRecords?: number
  readonly clock?: Pick<Clock, 'now'>
}

/** Keeps records as long as the process lives. The reference for what other providers must do. */
export function memoryStateStore(options: MemoryStateStoreOptions = {}): StateStore {
  const { maxRecords = Infinity, clock = systemClock } = options
  if (!(maxRecords >= 1)) throw new SessionError('invalid-config', 'maxRecords must be at least 1.')
  const spaces = new Map<string, Space>()
  let closed = false

  /** Checks what every call must; the space is made when it is missing. */
  function enter(name: string, id: string): Space {
    checkPlace(name, id)
    if (closed) throw new SessionError('store-unavailable', 'The memory state store is closed.')
    const space = spaces.get(name) ?? { records: new Map(), lastVersions: new Map(), ids: [] }
    spaces.set(name, space)
    return space
  }
  const isLive = (record: Versioned | undefined): boolean => record !== undefined && (record.expiresAt === 'never' || record.expiresAt > clock.now())
  const live = (space: Space, id: string): Versioned | undefined => {
    const record = space.records.get(id)
    return record && isLive(record) ? record : undefined
  }
  function sweep(limit: number): number {
    let swept = 0
    for (const space of spaces.values()) {
      for (const [id, record] of space.records) {
        if (swept >= limit) return swept
        if (isLive(record)) continue
        remove(space, id)
        swept++
      }
    }
    return swept
  }
  function makeRoom(): void {
    const held = (): number => [...spaces.values()].reduce((sum, { records }) => sum + records.size, 0)
    if (held() < maxRecords) return
    sweep(Infinity)
    if (held() >= maxRecords) throw new SessionError('store-full', `The memory state store holds its ${maxRecords} records.`)
  }
  const lifeOf = (ttlMs: TimeToLive): Pick<Versioned, 'usedAt' | 'expiresAt'> => {
    const usedAt = clock.now()
    return { usedAt, expiresAt: ttlMs === 'never' ? 'never' : usedAt + ttlMs }
  }

  return {
    async get(space, id): Promise<StateRead> {
      const record = enter(space, id).records.get(id)
      if (!record) return { status: 'missing' }
      if (!isLive(record)) return { status: 'expired', at: Number(record.expiresAt) }
      return { status: 'found', value: copyJson(record) }
    },
    async compareAndSet(name, id, expected, value, { ttlMs }) {
      checkTimeToLive(ttlMs)
      checkJson(value, 'value')
      const space = enter(name, id)
      const current = live(space, id)
      if ((current?.version ?? null) !== expected) return refusal(current)
      if (maxRecords < Infinity && !space.records.has(id)) makeRoom()
      const version = (space.lastVersions.get(id) ?? 0) + 1
      put(space, id, { version, value: copyJson<JSONValue>(value), ...lifeOf(ttlMs) })
      return { ok: true, version }
    },
    async touch(name, id, ttlMs) {
      checkTimeToLive(ttlMs)
      const space = enter(name, id)
      const current = live(space, id)
      if (current) put(space, id, { ...current, ...lifeOf(ttlMs) })
      return current !== undefined
    },
    async delete(name, id, expected) {
      const space = enter(name, id)
      const current = live(space, id)
      if (!current || (expected !== undefined && current.version !== expected)) return refusal(current)
      remove(space, id)
      return { ok: true, version: current.version }
    },
    async list(name, { prefix = '', limit, page }) {
      const { ids, records } = enter(name, 'any')
      const most = pageLimit(limit)
      const found: (Versioned & { id: string })[] = []
      for (let place = placeOf(ids, page === undefined || compareIds(page, prefix) < 0 ? prefix : page); place < ids.length; place++) {
        const id = ids[place] ?? ''
        if (!id.startsWith(prefix) || found.length > most) break
        const record = records.get(id)
        if (record && id !== page && isLive(record)) found.push({ id, ...copyJson(record) })
      }
      return pageOf(found, most, (last) => last.id)
    },
    async sweep(limit) {
      enter('any', 'any')
      return sweep(limit)
    },
    async close() {
      closed = true
    },
  }
}

interface Space {
  readonly records: Map<string, Versioned>
  /** Of every id that was ever used: what is left of a record that is gone. */
  readonly lastVersions: Map<string, number>
  /** Those of `records`, in order. */
  readonly ids: string[]
}

function refusal(current: Versioned | undefined): CasResult {
  return current ? { ok: false, reason: 'conflict', current: copyJson(current) } : { ok: false, reason: 'missing' }
}

function put(space: Space, id: string, record: Versioned): void {
  if (!space.records.has(id)) space.ids.splice(placeOf(space.ids, id), 0, id)
  space.records.set(id, record)
  space.lastVersions.set(id, record.version)
}

function remove(space: Space, id: string): void {
  space.records.delete(id)
  space.ids.splice(placeOf(space.ids, id), 1)
}

/** Where the first id stands that is not before this one. */
function placeOf(ids: readonly string[], id: string): number {
  let [low, high] = [0, ids.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compareIds(ids[middle] ?? '', id) < 0) low = middle + 1
    else high = middle
  }
  return low
}
