import type { Kysely, Transaction } from 'kysely'

/** The tables whose statements are built. A column of type `Json` holds the JSON text of a value. */
export interface Tables {
  readonly state: StateTable
  readonly meta: MetaTable
}

/** The query builder over the tables of a store. */
export type Database = Kysely<Tables>
/** The query builder inside a transaction. */
export type Connection = Transaction<Tables>

type Json = string

/** Without a value, only the version remains, so that it is not used again. */
export interface StateTable {
  readonly namespace: string
  readonly space: string
  readonly id: string
  readonly version: number
  readonly value: Json | null
  readonly used_at: number
  readonly expires_at: number | null
  /** Set only if the record can be searched. */
  readonly search_group: string | null
  readonly words: string | null
}

/** Versions of the schema. */
interface MetaTable {
  readonly name: string
  readonly value: string
}
