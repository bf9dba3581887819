import assert from 'node:assert/strict'
import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import type { StoreHint } from '@bowline/sessions'
import { tables } from '@bowline/sessions/rows'
import type { Change, Id, Read, Row, RowStore, Scan, Table, Value, Write } from '@bowline/sessions/rows'
import type { TestRunner } from '../runner.ts'

/** Factories and abilities of the row store under test. */
export interface RowKitOptions {
  /** Name of the store in the titles of the tests. */
  readonly name: string
  /** Returns a store without rows that is not open. */
  readonly create: () => Promise<RowStore>
  /** Returns a store with the rows of this one, which is closed. It is not open yet. Omit it if rows do not outlive a store. */
  readonly reopen?: (rows: RowStore) => Promise<RowStore>
  /** Returns another store on the same rows, at the same time, as of another process. Omit it for a store that locks its rows. */
  readonly second?: (rows: RowStore) => Promise<RowStore>
  /**
   * Breaks the connection of this store to its server at the next moments number 1, 2, …: before or after a request arrives. Returns a
   * function that mends it, and returns whether that moment has come. Omit it for a store without a server.
   */
  readonly cut?: (rows: RowStore, moment: number) => Promise<() => Promise<boolean>>
  /** Called after each test, when its stores are closed. */
  readonly destroy?: () => Promise<void>
  /** Number of random programs. Default 40. */
  readonly programs?: number
  /** Seed of the random programs, which a failure prints. Default 1. */
  readonly seed?: number
  /** Default: the globals `describe` and `it`. */
  readonly runner?: TestRunner
}

/** Input of a topic of the kit: functions to register tests and to open stores. */
export interface RowKit {
  readonly options: RowKitOptions
  readonly it: (name: string, test: (rows: RowStore, stores: OpenRows) => Promise<void>) => void
}

export interface OpenRows {
  /** Opens a store. Default: a new namespace. The test closes it. */
  open(rows: RowStore, as?: Opening): Promise<RowStore>
  /** Opens another store on the same rows, in the namespace of the test. */
  second(rows: RowStore, as?: Opening): Promise<RowStore>
  /** Closes the store, and opens another one on its rows. */
  reopen(rows: RowStore, as?: Opening): Promise<RowStore>
}

interface Opening {
  readonly namespace?: string
  readonly owner?: string
  readonly clock?: Clock
}

export type RowTopic = (kit: RowKit) => void

let namespaces = 0

export function rowKitOf(options: RowKitOptions, runner: TestRunner): RowKit {
  return { options, it: (name, test) => runner.it(name, () => runTest(options, test), 30_000) }
}

/** Runs a test with its store, and closes every store that it opened. */
async function runTest(options: RowKitOptions, test: (rows: RowStore, stores: OpenRows) => Promise<void>): Promise<void> {
  const own = newNamespace()
  const opened: RowStore[] = []
  const stores: OpenRows = {
    async open(rows, { namespace = newNamespace(), owner = 'owner-a', clock = systemClock } = {}) {
      await rows.open({ namespace, owner, clock })
      opened.push(rows)
      return rows
    },
    async second(rows, as) {
      assert.ok(options.second)
      return stores.open(await options.second(rows), { namespace: own, owner: 'owner-b', ...as })
    },
    async reopen(rows, as) {
      assert.ok(options.reopen)
      await rows.close()
      return stores.open(await options.reopen(rows), { namespace: own, ...as })
    },
  }
  try {
    await test(await stores.open(await options.create(), { namespace: own }), stores)
  } finally {
    for (const rows of opened) await rows.close()
    await options.destroy?.()
  }
}

export function newNamespace(): string {
  return `n${(namespaces += 1)}`
}

export const shapes: Readonly<Record<string, Table>> = tables

export function scan(table: string, index: string, rest: Partial<Scan> = {}): Scan {
  return { scan: table, index, equal: [], limit: 100, ...rest }
}

export function newRow(columns: Readonly<Record<string, Value>>, body: Row['body'] = {}): Row {
  return { ...columns, body }
}

export function session(key: string, columns: Readonly<Record<string, Value>> = {}, body?: Row['body']): Row {
  return newRow({ key, ...columns }, body)
}

export function put(table: string, ...rows: readonly Row[]): Change {
  return { writes: rows.map((row) => ({ put: table, row })) }
}

export function insert(key: string, columns?: Readonly<Record<string, Value>>): Write {
  return { insert: 'session', row: session(key, columns) }
}

export function update(id: Id, set: Readonly<Record<string, Value>>, expected?: Readonly<Record<string, Value>>): Write {
  return { update: 'session', id, set, ...(expected && { if: expected }) }
}

/** Returns a row without the columns that are null, because stores may leave them out. */
export function known(row: Row): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => value !== null || name === 'body'))
}

export async function rowsOf(rows: RowStore, read: Read): Promise<readonly Record<string, unknown>[]> {
  return ((await rows.read([read])).rows[0] ?? []).map(known)
}

/** Returns the ids of the rows: their values, or lists of values if the id has several columns. */
export async function idsOf(rows: RowStore, read: Scan): Promise<readonly unknown[]> {
  const id = shapes[read.scan]?.id ?? []
  return (await rowsOf(rows, read)).map((row) => (id.length === 1 ? row[id[0] ?? ''] : id.map((column) => row[column])))
}

export const keysOf = (rows: RowStore): Promise<readonly unknown[]> => idsOf(rows, scan('session', 'key', { limit: Infinity }))

/** Resolves when the store has told its listener of this key. Collects the keys that it has told until then. */
export function hears(rows: RowStore, key: string): { readonly heard: StoreHint[]; readonly told: Promise<StoreHint> } {
  const heard: StoreHint[] = []
  const told = new Promise<StoreHint>((resolve) => {
    const end = rows.subscribe((hint) => {
      heard.push(hint)
      if (hint.key !== key) return
      end()
      resolve(hint)
    })
  })
  return { heard, told }
}

export const hasCode =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof Error && 'code' in error && error.code === code
