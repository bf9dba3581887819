import type { JSONValue } from '@bowline/llm'
import { valueIn, type Id, type Row, type Table } from '../../rows/contract.ts'
import { putRow, type Effect, type MemorySpace } from '../../rows/memory-rows.ts'
import { tables, type TableName } from '../../rows/tables.ts'

/** The change of one row, as a file holds it. Names of changed fields have the names of the objects around them in front: `a/b`. */
export type RowChange =
  | { readonly insert: string; readonly row: Row }
  | { readonly update: string; readonly id: Id; readonly set: Fields; readonly gone?: readonly string[] }
  | { readonly delete: string; readonly id: Id }

type Fields = Readonly<Record<string, JSONValue>>

const separator = '/'

export function changeOf({ table, id, before, after }: Effect): RowChange {
  if (!after) return { delete: table, id }
  if (!before) return { insert: table, row: after }
  const set: [string, JSONValue][] = []
  const gone: string[] = []
  compare('', before, after, set, gone)
  return { update: table, id, set: Object.fromEntries(set), ...(gone.length > 0 && { gone }) }
}

function compare(path: string, before: Fields, after: Fields, set: [string, JSONValue][], gone: string[]): void {
  for (const [name, value] of Object.entries(before)) if (value !== undefined && after[name] === undefined) gone.push(path + name)
  for (const [name, value] of Object.entries(after)) {
    const old = before[name]
    if (value === undefined || value === old) continue
    if (isPlain(old) && isPlain(value)) compare(path + name + separator, old, value, set, gone)
    else set.push([path + name, value])
  }
}

/** Returns true for an object whose fields a path can name. */
function isPlain(value: JSONValue | undefined): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.keys(value).every((name) => !name.includes(separator) && name !== '__proto__')
}

/** Returns false if the change cannot follow: an earlier one is lost. Changes the body of the row in place. */
export function applyChange(space: MemorySpace, change: RowChange): boolean {
  if ('insert' in change) {
    const { id }: Table = tables[change.insert as TableName]
    return !putRow(
      space,
      change.insert,
      id.map((column) => valueIn(change.row, column) as string | number),
      () => change.row,
    ).before
  }
  const table = 'update' in change ? change.update : change.delete
  return putRow(space, table, change.id, (row) => (row && 'set' in change ? updated(row, change) : undefined)).before !== undefined
}

function updated(row: Row, { set, gone = [] }: { readonly set: Fields; readonly gone?: readonly string[] }): Row {
  const after = { ...row }
  for (const [path, value] of Object.entries(set)) {
    const [holder, name] = find(after, path)
    holder[name] = value
  }
  for (const path of gone) {
    const [holder, name] = find(after, path)
    delete holder[name]
  }
  return after
}

function find(object: Record<string, JSONValue>, path: string): readonly [holder: Record<string, JSONValue>, name: string] {
  const end = path.indexOf(separator)
  if (end === -1) return [object, path]
  return find(object[path.slice(0, end)] as Record<string, JSONValue>, path.slice(end + 1))
}
