import type { Table } from '../contract.ts'
import { numberColumns, tables } from '../tables.ts'
import type { TableName } from '../tables.ts'
import type { ColumnType, RowDialect } from './dialect.ts'

/** Column with the namespace of a row. It is the first one of the id and of each index. */
export const namespaceColumn = '"namespace"'

/** Returns the table. Throws if there is none, so that each name in a statement is from the list of tables. */
export function tableOf(name: string): Table {
  if (!Object.hasOwn(tables, name)) throw new TypeError(`There is no table ${name}.`)
  return tables[name as TableName]
}

/** Returns the columns of an index. */
export function indexOf(table: string, index: string): readonly string[] {
  const columns = tableOf(table).indexes[index]
  if (!columns) throw new TypeError(`There is no index ${index}.`)
  return columns
}

/** Returns the quoted name, in the form that is usual in SQL. */
export function quoted(name: string): string {
  return `"${name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}"`
}

/** Returns the quoted name of a column. Throws if the table has none. */
export function columnOf(table: string, name: string): string {
  const { id, columns } = tableOf(table)
  if (name !== 'body' && !id.includes(name) && !columns.includes(name)) throw new TypeError(`The table ${table} has no column ${name}.`)
  return quoted(name)
}

export function typeOf(column: string): ColumnType {
  return numberColumns.has(column) ? 'number' : 'text'
}

/** Returns true if the name of a column in an index is marked as descending. */
export function isDescending(column: string): boolean {
  return column.startsWith('-')
}

/** Returns the name of a column in an index without its mark. */
export function unmarked(column: string): string {
  return isDescending(column) ? column.slice(1) : column
}

/** Returns the value that an index holds for this column. */
export function indexed(column: string, { negated }: RowDialect): string {
  return isDescending(column) ? negated(quoted(unmarked(column))) : quoted(column)
}

/** Returns the quoted name of an index. Undefined if the id of the table has the same order. */
export function indexName(table: string, index: string): string | undefined {
  return indexOf(table, index).join() === tableOf(table).id.join() ? undefined : quoted(`${table}_${index}`)
}

/** Returns the conditions for the rows of an index: those without null in its columns. */
export function isIndexed(table: string, index: string, { onlyIn }: RowDialect): readonly string[] {
  const name = indexName(table, index)
  if (name === undefined) return []
  const { id } = tableOf(table)
  const nullable = indexOf(table, index)
    .map(unmarked)
    .filter((column) => !id.includes(column))
  return [...nullable.map((column) => `${quoted(column)} is not null`), ...onlyIn(name)]
}
