import type { JSONValue } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'

type Breaks = (good: StateStore) => Partial<StateStore>

/** Faults that a provider may have, one each. */
const faults: Readonly<Record<string, Breaks>> = {
  'loses updates': (good) => ({
    async compareAndSet(space, id, expected, value, options) {
      for (;;) {
        const read = await good.get(space, id)
        const current = read.status === 'found' ? read.value.version : null
        const result = await good.compareAndSet(space, id, expected === null || current === null ? expected : current, value, options)
        if (result.ok || result.reason === 'missing' || expected === null) return result
      }
    },
  }),
  'brings back what was removed': (good) => {
    const last = new Map<string, JSONValue>()
    return {
      compareAndSet(space, id, expected, value, options) {
        last.set(`${space}\n${id}`, value)
        return good.compareAndSet(space, id, expected, value, options)
      },
      async touch(space, id, ttlMs) {
        if (await good.touch(space, id, ttlMs)) return true
        const value = last.get(`${space}\n${id}`)
        return value !== undefined && (await good.compareAndSet(space, id, null, value, { ttlMs })).ok
      },
    }
  },
  'uses versions again': (good) => {
    const gone = new Map<string, number>()
    const goneOf = (space: string, id: string): number => gone.get(`${space}\n${id}`) ?? 0
    return {
      async get(space, id) {
        const read = await good.get(space, id)
        return read.status === 'found'
          ? { status: 'found', value: { ...read.value, version: read.value.version - goneOf(space, id) } }
          : read
      },
      async compareAndSet(space, id, expected, value, options) {
        const result = await good.compareAndSet(space, id, expected === null ? null : expected + goneOf(space, id), value, options)
        return result.ok ? { ok: true, version: result.version - goneOf(space, id) } : result
      },
      async delete(space, id, expected) {
        const before = goneOf(space, id)
        const result = await good.delete(space, id, expected === undefined ? undefined : expected + before)
        if (!result.ok) return result
        gone.set(`${space}\n${id}`, result.version)
        return { ok: true, version: result.version - before }
      },
    }
  },
  'lets spaces run into each other': (good) => {
    const all = 'all'
    const key = (space: string, id: string): string => (space === '' || id === '' ? '' : `${space}:${id}`)
    return {
      get: (space, id) => good.get(all, key(space, id)),
      compareAndSet: (space, id, ...rest) => good.compareAndSet(all, key(space, id), ...rest),
      touch: (space, id, ttlMs) => good.touch(all, key(space, id), ttlMs),
      delete: (space, id, expected) => good.delete(all, key(space, id), expected),
      async list(space, { prefix = '', page, ...query }) {
        const found = await good.list(all, {
          ...query,
          prefix: `${space}:${prefix}`,
          ...(page === undefined ? {} : { page: `${space}:${page}` }),
        })
        const own = (id: string): string => id.slice(space.length + 1)
        const items = found.items.map((item) => ({ ...item, id: own(item.id) }))
        return { items, ...(found.next === undefined ? {} : { next: own(found.next) }) }
      },
    }
  },
  'shows what has expired as missing': (good) => ({
    async get(space, id) {
      const read = await good.get(space, id)
      return read.status === 'expired' ? { status: 'missing' } : read
    },
  }),
  'rounds times up to seconds': (good) => ({
    compareAndSet: (space, id, expected, value, { ttlMs }) =>
      good.compareAndSet(space, id, expected, value, {
        ttlMs: Number.isSafeInteger(ttlMs) && Number(ttlMs) > 0 ? Math.ceil(Number(ttlMs) / 1_000) * 1_000 : ttlMs,
      }),
  }),
  'looks empty when it is away': (good) => ({
    get: (space, id) =>
      good.get(space, id).catch((error: { code?: string }) => {
        if (error.code !== 'store-unavailable') throw error
        return { status: 'missing' }
      }),
  }),
  'prolongs what is read': (good) => ({
    async get(space, id) {
      const read = await good.get(space, id)
      if (read.status === 'found' && read.value.expiresAt !== 'never') await good.touch(space, id, 60_000)
      return read
    },
  }),
  'deletes whatever version it finds': (good) => ({
    delete: (space, id, expected) => good.delete(space, id, Number.isSafeInteger(expected) ? undefined : expected),
  }),
  'repeats a record at the edge of a page': (good) => {
    let last: Awaited<ReturnType<StateStore['list']>>['items'][number] | undefined
    return {
      async list(space, query) {
        const found = await good.list(space, query)
        const items = query.page !== undefined && last && found.items.length < (query.limit ?? 100) ? [last, ...found.items] : found.items
        last = found.items.at(-1)
        return { ...found, items }
      },
    }
  },
}

export interface PlantedFault {
  readonly fault: string
  /** Rule whose tests detect the fault. */
  readonly caughtBy: string
  readonly breaks: (good: StateStore) => StateStore
}

const caughtBy: Readonly<Record<string, string>> = {
  'loses updates': 'O13',
  'brings back what was removed': 'O16',
  'uses versions again': 'O61',
  'lets spaces run into each other': 'O60',
  'shows what has expired as missing': 'O58',
  'rounds times up to seconds': 'O49',
  'looks empty when it is away': 'O58',
  'prolongs what is read': 'O3',
  'deletes whatever version it finds': 'O57',
  'repeats a record at the edge of a page': 'O62',
}

export const plantedFaults: readonly PlantedFault[] = Object.entries(faults).map(([fault, breaks]) => ({
  fault,
  caughtBy: caughtBy[fault] ?? '',
  breaks: (good) => ({ ...good, ...breaks(good) }),
}))
