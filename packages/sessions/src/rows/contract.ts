import type { JSONValue } from '@bowline/llm'
import type { StoreHint, StoreOpenOptions } from '../contract/session-store.ts'

/** Value of a column. Texts are ordered by their UTF-8 bytes. */
export type Value = string | number | null

/** A row: its columns, each a `Value`, and a body with what no index needs. Rows are never changed: a write replaces them. */
export interface Row {
  readonly [column: string]: JSONValue
  readonly body: JSONValue
}

/** Returns the value of a column. Null: the row has none. */
export function valueIn(row: Row, column: string): Value {
  return (row[column] ?? null) as Value
}

/** A table. A row is in an index if none of the columns of the index is null. */
export interface Table {
  /** Columns that identify a row. */
  readonly id: readonly string[]
  /** The other columns. */
  readonly columns: readonly string[]
  /** Columns of each index, in order. `-` before a name: descending. */
  readonly indexes: Readonly<Record<string, readonly string[]>>
}

/** The ids of rows: the values of the columns in `Table.id`, in order. */
export type Id = readonly (string | number)[]

/** A condition on a column of a row. Null matches no condition but `not`. */
export type Filter =
  | { readonly column: string; readonly in: readonly (string | number)[] }
  | { readonly column: string; readonly not: readonly (string | number)[] }
  | { readonly column: string; readonly from: number | string }
  | { readonly column: string; readonly to: number | string }
  | { readonly column: string; readonly prefix: string }

/** Rows to read. */
export type Read =
  /** The rows with these ids, in any order. Missing rows are left out. */
  | { readonly get: string; readonly ids: readonly Id[] }
  | Scan
  /** A row, then the row that its column names, and so on, until the column is null. The column replaces the last part of the id. */
  | { readonly walk: string; readonly from: Id; readonly by: string; readonly limit: number }

/** Rows in the order of an index. */
export interface Scan {
  readonly scan: string
  readonly index: string
  /** Values of the first columns of the index. */
  readonly equal: readonly (string | number)[]
  /** Only rows from this value on, or up to it, in the column that follows `equal`. */
  readonly from?: string | number
  readonly to?: string | number
  /** Only rows after this position: values of the columns that follow `equal`, in the direction of the scan. */
  readonly after?: readonly (string | number)[]
  readonly reverse?: boolean
  readonly where?: readonly Filter[]
  /** Only the first row for each value of the column that follows `equal`. */
  readonly firstOfEach?: boolean
  readonly limit: number
}

/** One change of one row. If its condition does not hold, nothing of the whole change is stored. */
export type Write =
  /** The id must not exist. */
  | { readonly insert: string; readonly row: Row }
  /** Replaces these values. The row must exist, and have the values in `if`. */
  | { readonly update: string; readonly id: Id; readonly set: Partial<Row>; readonly if?: Readonly<Record<string, Value>> }
  /** Inserts or replaces the row. */
  | { readonly put: string; readonly row: Row }
  /** Deletes the row, if there is one. With `if`, it must exist and have these values. */
  | { readonly drop: string; readonly id: Id; readonly if?: Readonly<Record<string, Value>> }
  /** Deletes all rows that the scan would find, whatever its limit. */
  | { readonly dropAll: Scan }

/** Writes that are stored together or not at all. */
export interface Change {
  readonly writes: readonly Write[]
  /** A power failure may undo it. */
  readonly provisional?: boolean
  /**
   * Claims a run of the session that the first write updates. A store for many processes does not store it if this process was declared
   * dead. It is also brief.
   */
  readonly isClaim?: true
  /** Is not stored if another process keeps the row of the first write locked for long. */
  readonly isBrief?: true
  /** Keys of sessions whose live deltas are deleted with this change, in a store that has them. */
  readonly replacesDeltas?: readonly string[]
  /** Told to the listeners of all stores on these rows once it is stored. */
  readonly hints?: readonly StoreHint[]
}

/** Answer to reads: the rows of each, and the time of the store (epoch milliseconds). All are from one moment. */
export interface Answer {
  readonly now: number
  readonly rows: readonly (readonly Row[])[]
}

/**
 * Rows in tables with indexes. Every promise of a session store is kept above it, so that a store needs to know nothing of
 * sessions: it reads at one moment, and writes all or nothing. It throws `store-unavailable` if it cannot be reached; the outcome of a
 * write is then unknown.
 */
export interface RowStore {
  readonly name: string
  readonly capabilities: {
    readonly durable: 'none' | 'process' | 'power'
    readonly processes: 'one' | 'many'
    readonly maxRowBytes: number
  }
  open(options: StoreOpenOptions): Promise<void>
  close(): Promise<void>
  read(reads: readonly Read[]): Promise<Answer>
  /**
   * Stores each change completely or not at all, in this order. Returns for each whether it was stored: false means that one of its
   * conditions did not hold. A row whose body is longer than `maxRowBytes` is refused: throws `entry-too-large`.
   */
  write(changes: readonly Change[]): Promise<readonly boolean[]>
  /** Calls the listener after each stored change with hints, in any process. Hints may be lost. Returns a dispose function. */
  subscribe(listener: (hint: StoreHint) => void): () => void
}
