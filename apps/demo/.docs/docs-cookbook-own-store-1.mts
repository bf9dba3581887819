import type { StateStore } from '@bowline/sessions'
import { testStateStore } from '@bowline/sessions/testing'
type Row = { version: number; value: never; usedAt: number; expiresAt: number | 'never' }
function mapStore(now: () => number): StateStore {
  const rows = new Map<string, Row>() // your database; each method is one atomic statement
  let last = 0 // a version is never used twice
  const keyOf = (space: string, id: string) => `${space}\n${id}`
  const endOf = (ttlMs: number | 'never') => (ttlMs === 'never' ? ttlMs : now() + ttlMs)
  const lives = ({ expiresAt }: Row) => expiresAt === 'never' || expiresAt > now()
  const live = (key: string) => [rows.get(key)].find((row) => row && lives(row))
  const refused = (current?: Row) => (current ? ({ ok: false, reason: 'conflict', current: { ...current } } as const) : ({ ok: false, reason: 'missing' } as const))
  return {
    async get(space, id) {
      const row = rows.get(keyOf(space, id))
      if (!row) return { status: 'missing' }
      return lives(row) ? { status: 'found', value: structuredClone(row) } : { status: 'expired', at: Number(row.expiresAt) }
    },
    async compareAndSet(space, id, expected, value, { ttlMs }) {
      const current = live(keyOf(space, id))
      if (expected !== (current?.version ?? null)) return refused(current)
      rows.set(keyOf(space, id), { version: ++last, value: structuredClone(value) as never, usedAt: now(), expiresAt: endOf(ttlMs) })
      return { ok: true, version: last }
    },
    async touch(space, id, ttlMs) {
      const row = live(keyOf(space, id))
      return row !== undefined && Object.assign(row, { usedAt: now(), expiresAt: endOf(ttlMs) }) === row
    },
    async delete(space, id, expected) {
      const current = live(keyOf(space, id))
      if (!current || (expected ?? current.version) !== current.version) return refused(current)
      rows.delete(keyOf(space, id))
      return { ok: true, version: current.version }
    },
    async list(space, { prefix = '', limit = 100, page }) {
      const found = [...rows].filter(([key, row]) => key.startsWith(keyOf(space, prefix)) && lives(row))
      const all = found.map(([key, row]) => ({ id: key.slice(space.length + 1), ...structuredClone(row) })).sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
      const items = all.filter(({ id }) => page === undefined || Buffer.compare(Buffer.from(id), Buffer.from(page)) > 0)
      return { items: items.slice(0, limit), ...(items.length > limit && { next: items[limit - 1]?.id ?? '' }) }
    },
    sweep: async (limit) => [...rows].filter(([, row]) => !lives(row)).slice(0, limit).filter(([key]) => rows.delete(key)).length,
    close: async () => {},
  }
}
const tests: [string, () => Promise<void>][] = []
const runner = { describe: (_name: string, body: () => void) => body(), it: (name: string, body: () => Promise<void>) => void tests.push([name, body]) }
testStateStore({ name: 'map', create: async (clock) => mapStore(() => clock.now()), runner }) // default: describe and it of your test runner
const failed: string[] = []
for (const [name, test] of tests) await test().catch(() => failed.push(name.split(':')[0] ?? ''))
console.log(failed.join(' ')) // → O57 O58 O6

export {}
