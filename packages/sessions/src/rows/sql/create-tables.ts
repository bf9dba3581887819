import { tables } from '../tables.ts'
import type { TableName } from '../tables.ts'
import type { RowDialect } from './dialect.ts'
import { indexed, indexName, indexOf, isDescending, isIndexed, namespaceColumn, quoted, tableOf, typeOf, unmarked } from './names.ts'

/** Returns the statements that create all tables with their indexes. */
export function createTables(dialect: RowDialect): readonly string[] {
  return (Object.keys(tables) as TableName[]).flatMap((table) => [createTable(table, dialect), ...createIndexes(table, dialect)])
}

function createTable(table: TableName, dialect: RowDialect): string {
  const { id, columns, indexes } = tableOf(table)
  const { types, negatedColumn, schema, settingsOf } = dialect
  const typed = (column: string): string => `${quoted(column)} ${types[typeOf(column)]}`
  const descending = new Set(Object.values(indexes).flat().filter(isDescending).map(unmarked))
  const parts = [
    `${namespaceColumn} ${types.text} not null`,
    ...id.map((column) => `${typed(column)} not null`),
    ...columns.map(typed),
    ...[...descending].flatMap((column) => negatedColumn?.(quoted(column)) ?? []),
    `"body" ${types.text} not null`,
    `primary key (${[namespaceColumn, ...id.map(quoted)].join(', ')})`,
  ]
  return `create table ${schema}${quoted(table)} (${parts.join(', ')})${settingsOf(table)}`
}

function createIndexes(table: TableName, dialect: RowDialect): readonly string[] {
  return Object.keys(tableOf(table).indexes).flatMap((index) => {
    const name = indexName(table, index)
    if (name === undefined) return []
    const columns = [namespaceColumn, ...indexOf(table, index).map((column) => indexed(column, dialect))]
    const where = isIndexed(table, index, dialect)
    const some = where.length === 0 ? '' : ` where ${where.join(' and ')}`
    return [`create index ${name} on ${dialect.schema}${quoted(table)} (${columns.join(', ')})${some}`]
  })
}
