import type { Kysely } from 'kysely'

/** The table whose statements are built. A column of type `Json` holds the JSON text of a value. */
export interface Tables {
  readonly state: StateTable
}

/** The query builder over the tables of a store. */
export type Database = Kysely<Tables>

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
