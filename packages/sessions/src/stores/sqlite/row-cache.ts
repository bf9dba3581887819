import { charactersIn } from '../../json.ts'
import type { Id, Row, Write } from '../../rows/contract.ts'
import { tableOf } from '../../rows/sql/names.ts'

/** Tables whose rows most commits read by their ids. */
const tables: ReadonlySet<string> = new Set(['session', 'tombstone', 'run', 'input', 'call', 'lease', 'definition'])
const mostRows = 1000
const longestRow = 16 * 1024

/** The rows that this process has read or written last. They are those in the file, because no other process writes to it. */
export class RowCache {
  /** Null: there is no such row. */
  readonly #rows = new Map<string, Row | null>()

  holds(table: string): boolean {
    return tables.has(table)
  }

  /** Returns undefined if it is not known whether there is such a row. */
  find(table: string, id: Id): Row | null | undefined {
    const name = nameOf(table, id)
    const row = this.#rows.get(name)
    if (row === undefined) return undefined
    this.#rows.delete(name)
    this.#rows.set(name, row)
    return row
  }

  keep(table: string, id: Id, row: Row | null): void {
    const name = nameOf(table, id)
    this.#rows.delete(name)
    if (row && charactersIn(row.body) > longestRow) return
    this.#rows.set(name, row)
    if (this.#rows.size <= mostRows) return
    const [oldest] = this.#rows.keys()
    if (oldest !== undefined) this.#rows.delete(oldest)
  }

  /** Follows a write that was executed. */
  apply(write: Write): void {
    if ('dropAll' in write) {
      if (this.holds(write.dropAll.scan)) this.clear()
      return
    }
    const table = 'insert' in write ? write.insert : 'put' in write ? write.put : 'update' in write ? write.update : write.drop
    if (!this.holds(table)) return
    if ('row' in write) return this.keep(table, idOf(table, write.row), write.row)
    if ('drop' in write) return this.keep(table, write.id, null)
    const before = this.#rows.get(nameOf(table, write.id))
    if (before) this.keep(table, write.id, { ...before, ...write.set } as Row)
  }

  clear(): void {
    this.#rows.clear()
  }
}

export function idOf(table: string, row: Row): Id {
  return tableOf(table).id.map((name) => row[name] as string | number)
}

function nameOf(table: string, id: Id): string {
  return id.length === 1 ? `${table} ${String(id[0])}` : `${table} ${JSON.stringify(id)}`
}
