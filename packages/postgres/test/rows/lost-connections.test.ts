import { systemClock } from '@bowline/llm'
import type { Change, RowStore, Write } from '@bowline/sessions/sql'
import type { PostgresStoreOptions } from '@bowline/postgres'
import { testRowStore } from '@bowline/testing/stores'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { postgresRows } from '../../src/store/postgres-rows.ts'
import { watchedPool } from '../watched-pool.ts'
import { wireProxies, type WireProxy } from '../wire-proxy.ts'

const database = testDatabase()
const startProxy = wireProxies()
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const cuts = ['before', 'behind', 'terminate'] as const
let namespaces = 0

const proxied = new WeakMap<RowStore, WireProxy>()

async function proxiedRows(): Promise<RowStore> {
  const proxy = await startProxy(database.url)
  const rows = postgresRows({ connectionString: proxy.url, listen: false })
  proxied.set(rows, proxy)
  return rows
}

/** Breaks the connection at a statement: each moment is one way to break it at one statement. */
async function cut(rows: RowStore, moment: number): Promise<() => Promise<boolean>> {
  const proxy = proxied.get(rows)
  if (!proxy) throw new TypeError('These rows have no proxy.')
  let left = Math.ceil(moment / cuts.length)
  proxy.cut = () => ((left -= 1) === 0 ? cuts[moment % cuts.length] : undefined)
  return async () => {
    proxy.cut = () => undefined
    return left <= 0
  }
}

testRowStore({
  name: 'postgres whose connection is lost',
  create: proxiedRows,
  reopen: proxiedRows,
  second: async () => postgresRows({ connectionString: database.url, listen: false }),
  cut,
  runner: { describe: (_title, body) => body(), it: (name, body) => void (name.startsWith('S195') && it(name, body)) },
})

async function open(
  namespace: string,
  options: PostgresStoreOptions = { connectionString: database.url, listen: false },
): Promise<RowStore> {
  const rows = postgresRows(options)
  await rows.open({ namespace, clock: systemClock, owner: 'owner-a' })
  closing.push(() => rows.close())
  return rows
}

const insert = (key: string): Write => ({ insert: 'session', row: { key, revision: 1, body: '' } })
const change: Change = { writes: [{ update: 'session', id: ['a'], set: { revision: 2 }, if: { revision: 1 } }, insert('b'), insert('c')] }

async function keysOf(rows: RowStore): Promise<readonly unknown[]> {
  return (await rows.read([{ scan: 'session', index: 'key', equal: [], limit: 10 }])).rows[0]?.map(({ key }) => key) ?? []
}

describe('rows in Postgres', () => {
  it('a read whose connection is lost is repeated on another one', async () => {
    const proxy = await startProxy(database.url)
    const rows = await open(`own-${(namespaces += 1)}`, { connectionString: proxy.url, listen: false })
    await rows.write([{ writes: [insert('a')] }])
    for (const how of cuts) {
      let isCut = false
      proxy.cut = () => (isCut ? undefined : ((isCut = true), how))
      expect(await keysOf(rows)).toEqual(['a'])
      expect(isCut).toBe(true)
    }
  })

  it('a change that meets a deadlock is repeated', async () => {
    let failures = 0
    const fails = { text: `do $$ begin raise exception using errcode = '40P01'; end $$` }
    const { pool, end } = watchedPool(database.url, ({ text }) => (text.startsWith('insert') && (failures += 1) < 4 ? fails : undefined))
    closing.push(end)
    const rows = await open(`own-${(namespaces += 1)}`, { pool, listen: false })
    expect(await rows.write([{ writes: [insert('a'), insert('b')] }, { writes: [insert('c')] }])).toEqual([true, true])
    expect(failures).toBeGreaterThan(3)
    expect(await keysOf(rows)).toEqual(['a', 'b', 'c'])
  })

  it('one round trip carries all reads on one snapshot, or all changes of a call', async () => {
    const sent: string[] = []
    let atOnce: readonly string[] = []
    const { pool, end } = watchedPool(database.url, ({ text }) => {
      // No answer can arrive before the next tick.
      if (sent.push(text) === 1) process.nextTick(() => (atOnce = sent.map((text) => text.slice(0, 6))))
      return undefined
    })
    closing.push(end)
    const namespace = `own-${(namespaces += 1)}`
    const rows = await open(namespace, { pool, listen: false })
    const calm = await open(namespace)
    await calm.write([{ writes: [insert('a')] }])
    sent.length = 0
    expect(await rows.write([change, change, { writes: [insert('d')] }])).toEqual([true, false, true])
    const ofChange = ['begin ', 'with f', 'insert', 'insert', 'commit']
    expect(atOnce).toEqual([...ofChange, ...ofChange, 'insert'])
    expect(sent).toHaveLength(11)
    sent.length = 0
    const { rows: found } = await rows.read([
      { get: 'session', ids: [['a']] },
      { get: 'session', ids: [['b'], ['c']] },
    ])
    expect(found.map((each) => each.map(({ key }) => key))).toEqual([['a'], ['b', 'c']])
    expect(atOnce).toEqual(['begin ', 'select', 'select', 'commit'])
    expect(sent[0]).toContain('repeatable read read only')
    expect(sent).toHaveLength(4)
  })

  it('hints reach the stores of other processes', async () => {
    const namespace = `own-${(namespaces += 1)}`
    const rows = await open(namespace, { connectionString: database.url })
    const other = await open(namespace, { connectionString: database.url })
    const heard: unknown[] = []
    other.subscribe((hint) => heard.push(hint))
    await rows.write([
      {
        writes: [insert('a')],
        hints: [
          { key: 'a', wake: true },
          { key: 'b', wake: false },
        ],
      },
    ])
    await rows.write([{ writes: [insert('c')], hints: [{ key: 'c', wake: false, deltas: true }] }])
    await vi.waitUntil(() => heard.length >= 3)
    // Those with wakes are sent later.
    expect(heard.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))).toEqual([
      { key: 'a', wake: true, elsewhere: true },
      { key: 'b', wake: false, elsewhere: true },
      { key: 'c', wake: false, deltas: true, elsewhere: true },
    ])
    expect(await rows.write([{ writes: [insert('a')], hints: [{ key: 'a', wake: true }] }])).toEqual([false])
    expect(heard).toHaveLength(3)
  })
})
