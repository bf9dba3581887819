import { Buffer } from 'node:buffer'
import { SessionError } from '../../errors.ts'
import { toStored } from './stored-text.ts'
import { valueIn } from '../contract.ts'
import type { Filter, Id, Read, Row, Scan, Value, Write } from '../contract.ts'
import type { RowDialect } from './dialect.ts'
import { columnOf, indexed, indexName, indexOf, isDescending, isIndexed, namespaceColumn, quoted, tableOf, typeOf } from './names.ts'

/** A statement with its values. Statements of one shape share their text. */
export interface RowCall {
  readonly statement: RowStatement
  readonly values: readonly StoredValue[]
}

/** A list is bound as one value. */
export type StoredValue = Value | readonly Value[]

export interface RowStatement {
  readonly text: string
  /** A change is stored only if this statement changes or finds a row. Default: it need not. */
  readonly must?: 'change' | 'find'
}

/** Takes the value of a slot from what the statement is executed for. */
type Take<G> = (given: G) => StoredValue | undefined

interface Built<G> extends RowStatement {
  readonly slots: readonly Take<G>[]
}

type Slot<G> = (take: Take<G>) => string
type Walk = Extract<Read, { readonly walk: string }>

/** Ids that differ in their last part only. */
interface Ids {
  readonly begin: Id
  readonly last: readonly (string | number)[]
}

/** Writes statements for rows. A text is written once for all reads or writes of its shape. */
export class RowStatements {
  readonly #dialect: RowDialect
  readonly #namespace: string
  readonly #maxRowBytes: number
  /** As many as there are shapes in the code that uses the rows. */
  readonly #built = new Map<string, Built<never>>()

  constructor(dialect: RowDialect, namespace: string, maxRowBytes: number) {
    this.#dialect = dialect
    this.#namespace = namespace
    this.#maxRowBytes = maxRowBytes
  }

  /** Returns the statements whose rows together answer the read. */
  read(read: Read): readonly RowCall[] {
    if ('scan' in read) return [this.#scan(read)]
    if ('walk' in read) return [this.#walk(read)]
    return withSameBegin(read.ids).map((ids) => this.#get(read.get, ids))
  }

  /** Throws `entry-too-large`. */
  write(write: Write): RowCall {
    if ('insert' in write) return this.#insert(write.insert, write.row)
    if ('put' in write) return this.#put(write.put, write.row)
    if ('update' in write) return this.#update(write)
    if ('drop' in write) return this.#drop(write)
    return this.#dropAll(write.dropAll)
  }

  #call<G>(shape: string, given: G, write: (slot: Slot<G>) => string, must?: RowStatement['must']): RowCall {
    const statement = (this.#built.get(shape) as Built<G> | undefined) ?? this.#build(shape, write, must)
    return { statement, values: statement.slots.map((take) => stored(take(given))) }
  }

  #build<G>(shape: string, write: (slot: Slot<G>) => string, must: RowStatement['must']): Built<G> {
    const slots: Take<G>[] = []
    const text = write((take) => this.#dialect.slot(slots.push(take)))
    const built = { text, slots, ...(must && { must }) }
    this.#built.set(shape, built)
    return built
  }

  #table(table: string): string {
    return `${this.#dialect.schema}${quoted(table)}`
  }

  #inNamespace<G>(slot: Slot<G>): string {
    return `${namespaceColumn} = ${slot(() => this.#namespace)}`
  }

  /** Condition for the row with an id. */
  #hasId<G>(table: string, slot: Slot<G>, take: (given: G) => Id): string {
    const parts = tableOf(table).id.map((column, at) => `${quoted(column)} = ${slot((given) => take(given)[at])}`)
    return [this.#inNamespace(slot), ...parts].join(' and ')
  }

  #get(table: string, given: Ids): RowCall {
    const isOnly = given.last.length === 1
    return this.#call(`get ${table} ${isOnly}`, given, (slot) => {
      const { id } = tableOf(table)
      const begin = id.slice(0, -1).map((column, at) => `${quoted(column)} = ${slot(({ begin }) => begin[at])}`)
      const column = id.at(-1) ?? ''
      const where = [this.#inNamespace(slot), ...begin].join(' and ')
      const from = { select: columnsOf(table), table: this.#table(table), where, column: quoted(column) }
      if (!isOnly)
        return this.#dialect.each(
          slot(({ last }) => last),
          typeOf(column),
          from,
        )
      return `select ${from.select} from ${from.table} where ${where} and ${from.column} = ${slot(({ last }) => last[0])}`
    })
  }

  #walk(given: Walk): RowCall {
    const { walk: table, by } = given
    return this.#call(`walk ${table} ${by}`, given, (slot) => {
      const { address } = this.#dialect
      const begin = tableOf(table).id.slice(0, -1)
      const parts = begin.map((column, at) => `own.${quoted(column)} = ${slot(({ from }) => from[at])}`)
      const next = [`own.${this.#inNamespace(slot)}`, ...parts, `own.${quoted(tableOf(table).id.at(-1) ?? '')} = found.next`]
      return `with recursive found (address, next, nth) as (
  select ${address}, ${columnOf(table, by)}, cast(1 as bigint) from ${this.#table(table)} where ${this.#hasId(table, slot, ({ from }) => from)}
  union all
  select own.${address}, own.${columnOf(table, by)}, nth + 1 from found ${this.#dialect.joinOne(this.#table(table), next.join(' and '))} where nth < ${slot(limitOf)}
) ${this.#foundIn(table)} limit ${slot(limitOf)}`
    })
  }

  #scan(scan: Scan): RowCall {
    const { scan: table, index, equal, reverse = false, firstOfEach = false } = scan
    return this.#call(`scan ${reverse} ${firstOfEach} ${shapeOf(scan)}`, scan, (slot) => {
      const order = indexOf(table, index)
        .slice(equal.length)
        .map((column) => `${indexed(column, this.#dialect)}${reverse ? ' desc' : ''}`)
      const from = `${this.#table(table)}${this.#using(table, index)}`
      const limit = slot(limitOf)
      const sorted = order.length === 0 ? '' : ` order by ${order.join(', ')}`
      const all = this.#conditions(scan, slot)
      if (!firstOfEach) return `select ${columnsOf(table)} from ${from} where ${all.join(' and ')}${sorted} limit ${limit}`
      const { address } = this.#dialect
      const column = indexed(indexOf(table, index)[equal.length] ?? '', this.#dialect)
      const last = `(select ${column} from ${this.#table(table)} where ${address} = found.address)`
      const { after: _, ...whole } = scan
      const behind = [...this.#conditions(whole, slot), `${column} ${reverse ? '<' : '>'} ${last}`]
      const first = (where: readonly string[]): string => `(select ${address} from ${from} where ${where.join(' and ')}${sorted} limit 1)`
      return `with recursive found (address, nth) as (
  select ${first(all)}, cast(1 as bigint)
  union all
  select ${first(behind)}, nth + 1 from found where found.address is not null and nth < ${limit}
) ${this.#foundIn(table)} limit ${limit}`
    })
  }

  #foundIn(table: string): string {
    const { address, joinOne } = this.#dialect
    return `select ${columnsOf(table)} from found ${joinOne(this.#table(table), `own.${address} = found.address`)} order by nth`
  }

  #using(table: string, index: string): string {
    const name = indexName(table, index)
    return name === undefined ? '' : this.#dialect.using(name)
  }

  /** Conditions for the rows of a scan, as its index compares them. */
  #conditions({ scan: table, index, equal, from, to, after, reverse, where = [] }: Scan, slot: Slot<Scan>): readonly string[] {
    const columns = indexOf(table, index)
    const next = columns[equal.length] ?? ''
    const names = columns.map((column) => indexed(column, this.#dialect))
    const conditions = [this.#inNamespace(slot)]
    equal.forEach((_, at) => conditions.push(`${names[at]} = ${slot((given) => signed(columns[at], given.equal[at]))}`))
    conditions.push(...isIndexed(table, index, this.#dialect))
    const [low, high] = isDescending(next) ? ['<=', '>='] : ['>=', '<=']
    if (from !== undefined) conditions.push(`${names[equal.length]} ${low} ${slot((given) => signed(next, given.from))}`)
    if (to !== undefined) conditions.push(`${names[equal.length]} ${high} ${slot((given) => signed(next, given.to))}`)
    if (after && after.length > 0) {
      const behind = names.slice(equal.length, equal.length + after.length).join(', ')
      const values = after.map((_, at) => slot((given) => signed(columns[equal.length + at], given.after?.[at])))
      conditions.push(`(${behind}) ${reverse ? '<' : '>'} (${values.join(', ')})`)
    }
    where.forEach((filter, at) => conditions.push(this.#filter(table, filter, at, slot)))
    return conditions
  }

  #filter(table: string, filter: Filter, at: number, slot: Slot<Scan>): string {
    const column = columnOf(table, filter.column)
    const value = slot(({ where }) => valueOf(where?.[at]))
    if ('in' in filter) return this.#dialect.isOneOf(column, value, typeOf(filter.column))
    if ('not' in filter) return `(${column} is null or not ${this.#dialect.isOneOf(column, value, typeOf(filter.column))})`
    if ('prefix' in filter) return this.#dialect.startsWith(column, value)
    return `${column} ${'from' in filter ? '>=' : '<='} ${value}`
  }

  #insert(table: string, row: Row): RowCall {
    return this.#call(`insert ${table}`, row, (slot) => this.#dialect.insertOnce(this.#insertText(table, slot)), 'change')
  }

  #put(table: string, row: Row): RowCall {
    return this.#call(`put ${table}`, row, (slot) => {
      const { id, columns } = tableOf(table)
      const set = [...columns, 'body'].map((column) => `${quoted(column)} = excluded.${quoted(column)}`)
      const key = [namespaceColumn, ...id.map(quoted)].join(', ')
      return `${this.#insertText(table, slot)} on conflict (${key}) do update set ${set.join(', ')}`
    })
  }

  #insertText(table: string, slot: Slot<Row>): string {
    const { id, columns } = tableOf(table)
    const names = [...id, ...columns]
    const values = [
      slot(() => this.#namespace),
      ...names.map((name) => slot((row) => valueIn(row, name))),
      slot((row) =>
        this.#bodyOf(
          table,
          row,
          id.map((name) => row[name]),
        ),
      ),
    ]
    return `insert into ${this.#table(table)} (${[namespaceColumn, ...names.map(quoted), '"body"'].join(', ')}) values (${values.join(', ')})`
  }

  #update(given: Extract<Write, { readonly update: string }>): RowCall {
    const { update: table, set } = given
    const changed = Object.keys(set)
    const write = (slot: Slot<typeof given>): string => {
      const values = changed.map((column) => {
        const take = ({ set, id }: typeof given): Value => (column === 'body' ? this.#bodyOf(table, set, id) : valueIn(set as Row, column))
        return `${columnOf(table, column)} = ${slot(take)}`
      })
      const where = this.#hasValues(table, given, slot)
      if (values.length === 0) return this.#dialect.mustFind(`select 1 from ${this.#table(table)} where ${where}`)
      return this.#dialect.mustChange(`update ${this.#table(table)} set ${values.join(', ')} where ${where}`)
    }
    // Without values it only checks the row.
    return this.#call(`update ${table} ${changed.join()} ${expectedIn(given)}`, given, write, changed.length === 0 ? 'find' : 'change')
  }

  #drop(given: Extract<Write, { readonly drop: string }>): RowCall {
    const { drop: table, if: expected } = given
    const text = (slot: Slot<typeof given>): string => `delete from ${this.#table(table)} where ${this.#hasValues(table, given, slot)}`
    const write = (slot: Slot<typeof given>): string => (expected ? this.#dialect.mustChange(text(slot)) : text(slot))
    return this.#call(`drop ${table} ${expectedIn(given)}`, given, write, expected && 'change')
  }

  /** Condition for the row with an id, and with the values that are expected. */
  #hasValues<G extends Conditional>(table: string, { if: expected = {} }: G, slot: Slot<G>): string {
    const values = Object.entries(expected).map(([column, value]) =>
      value === null ? `${columnOf(table, column)} is null` : `${columnOf(table, column)} = ${slot((given) => given.if?.[column])}`,
    )
    return [this.#hasId(table, slot, ({ id }) => id), ...values].join(' and ')
  }

  #dropAll(scan: Scan): RowCall {
    const { scan: table, index, firstOfEach = false } = scan
    if (firstOfEach) throw new TypeError('dropAll cannot delete the first rows only.')
    return this.#call(`dropAll ${shapeOf(scan)}`, scan, (slot) => {
      return `delete from ${this.#table(table)}${this.#using(table, index)} where ${this.#conditions(scan, slot).join(' and ')}`
    })
  }

  /** JSON contains none of the characters that `toStored` escapes. */
  #bodyOf(table: string, { body }: Partial<Row>, id: readonly unknown[]): string {
    const text = JSON.stringify(body)
    if (text.length * mostBytesPerUnit <= this.#maxRowBytes || Buffer.byteLength(text) <= this.#maxRowBytes) return text
    throw new SessionError('entry-too-large', `The row ${id.join(' ')} of the table ${table} is longer than ${this.#maxRowBytes} bytes`)
  }
}

interface Conditional {
  readonly id: Id
  readonly if?: Readonly<Record<string, Value>>
}

/** Returns what changes the text of the conditions. */
function expectedIn({ if: expected }: Conditional): string {
  if (!expected) return ''
  return `if ${Object.entries(expected)
    .map(([column, value]) => (value === null ? `-${column}` : column))
    .join()}`
}

const mostBytesPerUnit = 3

/** Databases have no infinite number. */
function limitOf({ limit }: { readonly limit: number }): number {
  return Math.min(limit, Number.MAX_SAFE_INTEGER)
}

/** Returns the columns of a table under the names in its rows. */
function columnsOf(table: string): string {
  const { id, columns } = tableOf(table)
  return [...id, ...columns, 'body'].map((name) => `${quoted(name)} as "${name}"`).join(', ')
}

/** Returns everything that changes the text of a scan. */
function shapeOf({ scan, index, equal, from, to, after = [], reverse, where = [] }: Scan): string {
  const filters = where.map((filter) => Object.keys(filter).join('=') + filter.column).join()
  return `${scan} ${index} ${equal.length} ${from !== undefined} ${to !== undefined} ${after.length} ${reverse ?? false} ${filters}`
}

/** Groups ids by all parts but the last. */
function withSameBegin(ids: readonly Id[]): readonly Ids[] {
  const groups = new Map<string, { begin: Id; last: (string | number)[] }>()
  for (const id of ids) {
    const [begin, last] = [id.slice(0, -1), id.at(-1) ?? '']
    const name = begin.length === 0 ? '' : JSON.stringify(begin)
    const group = groups.get(name) ?? { begin, last: [] }
    groups.set(name, group)
    group.last.push(last)
  }
  return [...groups.values()]
}

function valueOf(filter: Filter | undefined): StoredValue | undefined {
  if (!filter) return undefined
  if ('in' in filter) return filter.in
  if ('not' in filter) return filter.not
  if ('prefix' in filter) return filter.prefix
  return 'from' in filter ? filter.from : filter.to
}

/** Returns the value as an index holds it. */
function signed(column: string | undefined, value: Value | undefined): Value | undefined {
  return column !== undefined && isDescending(column) && typeof value === 'number' ? 0 - value : value
}

/** Escapes the texts of a value. A missing value is null. */
function stored(value: StoredValue | undefined): StoredValue {
  if (typeof value === 'string') return toStored(value)
  if (value === undefined) return null
  return typeof value === 'object' && value !== null ? value.map((item) => (typeof item === 'string' ? toStored(item) : item)) : value
}
