import fc from 'fast-check'
import { numberColumns, tables } from '@bowline/sessions/rows'
import type { Filter, Id, Read, Row, Scan, Table, Value, Write } from '@bowline/sessions/rows'

/** A write before its condition is known: `holds` takes the values of the stored row. */
export interface Conditional {
  readonly write: Extract<Write, { readonly update: string } | { readonly drop: string }>
  readonly compared: readonly string[]
  readonly holds: boolean
}

export type Step = { readonly changes: readonly (readonly (Write | Conditional)[])[] } | { readonly reads: readonly Read[] }

const texts = ['a', 'ab', 'b', 'Z', 'é', '￿', '😀', '\0', '\u0001', ' ', "it's", '%_'] as const
const numbers = [0, 1, 2, 3, -1, 2 ** 53 - 1] as const

const valueOf = (column: string): fc.Arbitrary<string | number> =>
  numberColumns.has(column) ? fc.constantFrom(...numbers) : fc.constantFrom(...texts)
const nullableOf = (column: string): fc.Arbitrary<Value> => fc.option(valueOf(column), { freq: 4, nil: null })
const valuesOf = (columns: readonly string[]): fc.Arbitrary<(string | number)[]> => fc.tuple(...columns.map(valueOf))
const body = fc.oneof(fc.constantFrom('', '\0\u0001', '\ud800', 'x'.repeat(3000)), fc.jsonValue({ maxDepth: 2 })) as fc.Arbitrary<
  Row['body']
>

interface Shape {
  readonly name: string
  readonly table: Table
}

/** Tables that together have every kind of index. */
const shapes: readonly Shape[] = (['session', 'run', 'call', 'entry', 'event', 'notice', 'timer', 'tombstone'] as const).map((name) => ({
  name,
  table: tables[name],
}))

/** Each row of a session is in the first index that begins with `session`: stores may keep these rows together. */
function valueIn(shape: Shape, column: string): fc.Arbitrary<Value> {
  const ofSession = Object.values(shape.table.indexes).find(([first]) => first === 'session') ?? []
  return ofSession.includes(column) || ofSession.includes(`-${column}`) ? valueOf(column) : nullableOf(column)
}

/** A row stays in its session. */
function sessionOf(id: readonly (string | number)[]): string {
  return texts[String(id[0]).length % 3] ?? ''
}

function columnsOf(shape: Shape): Readonly<Record<string, fc.Arbitrary<Value>>> {
  const columns = shape.table.columns.filter((column) => column !== 'session')
  return Object.fromEntries(columns.map((column) => [column, valueIn(shape, column)]))
}

function rowOf(shape: Shape): fc.Arbitrary<Row> {
  const { id: names, columns } = shape.table
  return fc.tuple(valuesOf(names), fc.record(columnsOf(shape)), body).map(([id, values, body]) => ({
    ...Object.fromEntries(names.map((column, at) => [column, id[at] ?? null])),
    ...(columns.includes('session') && { session: sessionOf(id) }),
    ...values,
    body,
  })) as fc.Arbitrary<Row>
}

function filterOf(column: string): fc.Arbitrary<Filter> {
  const value = valueOf(column)
  const list = fc.array(value, { maxLength: 3 })
  return fc.oneof(
    fc.record({ column: fc.constant(column), in: list }),
    fc.record({ column: fc.constant(column), not: list }),
    fc.record({ column: fc.constant(column), from: value }),
    fc.record({ column: fc.constant(column), to: value }),
    ...(numberColumns.has(column) ? [] : [fc.record({ column: fc.constant(column), prefix: fc.constantFrom('', ...texts) })]),
  )
}

function scanOf({ name, table }: Shape): fc.Arbitrary<Scan> {
  const one = ([index, marked]: readonly [string, readonly string[]]): fc.Arbitrary<Scan> => {
    const columns = marked.map((column) => column.replace('-', ''))
    return fc.nat(columns.length - 1).chain((length) => {
      const next = columns.slice(length)
      return fc.record(
        {
          scan: fc.constant(name),
          index: fc.constant(index),
          equal: valuesOf(columns.slice(0, length)),
          from: valueOf(next[0] ?? ''),
          to: valueOf(next[0] ?? ''),
          after: fc.integer({ min: 1, max: next.length }).chain((count) => valuesOf(next.slice(0, count))),
          reverse: fc.boolean(),
          where: fc.array(fc.constantFrom(...table.columns, ...table.id).chain(filterOf), { maxLength: 2 }),
          firstOfEach: fc.boolean(),
          limit: fc.constantFrom(1, 2, 3, 100),
        },
        { requiredKeys: ['scan', 'index', 'equal', 'limit'] },
      )
    })
  }
  return fc.constantFrom(...Object.entries(table.indexes)).chain(one)
}

function readOf(shape: Shape): fc.Arbitrary<Read> {
  const { name, table } = shape
  const id = valuesOf(table.id)
  const links = table.columns.filter((column) => numberColumns.has(column) === numberColumns.has(table.id.at(-1) ?? ''))
  return fc.oneof(
    fc.record({ get: fc.constant(name), ids: fc.uniqueArray(id, { selector: (parts) => JSON.stringify(parts), maxLength: 6 }) }),
    ...(links.length === 0
      ? []
      : [fc.record({ walk: fc.constant(name), from: id, by: fc.constantFrom(...links), limit: fc.constantFrom(0, 1, 5) })]),
    ...(Object.keys(table.indexes).length === 0 ? [] : [{ weight: 4, arbitrary: scanOf(shape) }]),
  )
}

function writeOf(shape: Shape): fc.Arbitrary<Write | Conditional> {
  const { name, table } = shape
  const row = rowOf(shape)
  const id = valuesOf(table.id)
  const set = fc.record({ ...columnsOf(shape), body }, { requiredKeys: [] }) as fc.Arbitrary<Partial<Row>>
  const conditional = (write: fc.Arbitrary<Conditional['write']>): fc.Arbitrary<Conditional> =>
    fc.record({
      write,
      compared: fc.subarray([...table.columns], { maxLength: Math.min(2, table.columns.length) }),
      holds: fc.boolean(),
    })
  return fc.oneof(
    { weight: 4, arbitrary: fc.record({ insert: fc.constant(name), row }) },
    { weight: 3, arbitrary: fc.record({ put: fc.constant(name), row }) },
    { weight: 4, arbitrary: conditional(fc.record({ update: fc.constant(name), id, set })) },
    conditional(fc.record({ drop: fc.constant(name), id })),
    fc.record({ drop: fc.constant(name), id }),
    ...(Object.keys(table.indexes).length === 0
      ? []
      : [fc.record({ dropAll: scanOf(shape).map((scan) => ({ ...scan, firstOfEach: false })) })]),
  )
}

/** Steps on a few tables with few different values, so that conditions meet rows and rows meet filters. */
export const steps: fc.Arbitrary<readonly Step[]> = fc.subarray([...shapes], { minLength: 1, maxLength: 2 }).chain((used) => {
  const shape = fc.constantFrom(...used)
  const change = fc.array(shape.chain(writeOf), { minLength: 1, maxLength: 4 })
  return fc.array(
    fc.oneof(
      { weight: 2, arbitrary: fc.record({ changes: fc.array(change, { minLength: 1, maxLength: 3 }) }) },
      fc.record({ reads: fc.array(shape.chain(readOf), { minLength: 1, maxLength: 4 }) }),
    ),
    { minLength: 10, maxLength: 40, size: 'max' },
  )
})

/** Tables with more possible ids are read by their indexes only. */
const mostIds = 200

/** Reads of all rows that a program may have written: in each index, and by their ids. */
export const everything: readonly Read[] = shapes.flatMap(({ name, table }): readonly Read[] => {
  const scans = Object.keys(table.indexes).map((index): Read => ({ scan: name, index, equal: [], limit: 1000 }))
  const ids = table.id.reduce<readonly Id[]>(
    (begins, column) => begins.flatMap((begin) => (numberColumns.has(column) ? numbers : texts).map((value) => [...begin, value])),
    [[]],
  )
  return ids.length > mostIds ? scans : [...scans, { get: name, ids }]
})
