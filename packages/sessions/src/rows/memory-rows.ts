import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { compareIds } from '../contract/paging.ts'
import type { StoreHint } from '../contract/session-store.ts'
import { SessionError } from '../errors.ts'
import { valueIn } from './contract.ts'
import type { Answer, Change, Filter, Id, Read, Row, RowStore, Scan, Table, Value, Write } from './contract.ts'
import { TurnQueue } from './turn-queue.ts'
import { SortedRows } from './sorted-rows.ts'
import type { Position } from './sorted-rows.ts'
import { tables } from './tables.ts'

interface Index {
  /** Columns with their directions. */
  readonly ordered: readonly string[]
  readonly columns: readonly string[]
  /** Undefined until the first scan. A store that is being loaded, or that uses few indexes, sorts only what it reads. */
  sorted: SortedRows<Row> | undefined
}

/** Rows of one table with its indexes. */
class HeldTable {
  readonly shape: Table
  readonly rows = new Map<string, Row>()
  readonly indexes: ReadonlyMap<string, Index>

  constructor(shape: Table) {
    this.shape = shape
    this.indexes = new Map(
      Object.entries(shape.indexes).map(([name, columns]) => [
        name,
        { ordered: columns, columns: columns.map((column) => column.replace('-', '')), sorted: undefined },
      ]),
    )
  }

  idOf(row: Row): Id {
    return this.shape.id.map((column) => row[column] as string | number)
  }

  set(name: string, before: Row | undefined, after: Row | undefined): void {
    if (after) this.rows.set(name, after)
    else this.rows.delete(name)
    for (const { columns, sorted } of this.indexes.values()) {
      if (!sorted) continue
      const [from, to] = [before && positionOf(before, columns), after && positionOf(after, columns)]
      if (before && from) sorted.remove(from, before)
      if (after && to) sorted.add(to, after)
    }
  }

  #sort({ ordered, columns }: Index): SortedRows<Row> {
    const sorted = new SortedRows<Row>(ordered)
    for (const row of this.rows.values()) {
      const position = positionOf(row, columns)
      if (position) sorted.add(position, row)
    }
    return sorted
  }

  *scan({ index, equal, from, to, after, reverse = false, where = [], firstOfEach = false, limit }: Scan): Iterable<Row> {
    const found = this.indexes.get(index)
    if (!found) throw new TypeError(`There is no index ${index}.`)
    const { columns } = found
    const sorted = (found.sorted ??= this.#sort(found))
    const column = columns[equal.length] ?? ''
    const isFalling = reverse !== (this.shape.indexes[index]?.[equal.length]?.startsWith('-') ?? false)
    const [first, end] = isFalling ? [to, from] : [from, to]
    const start = after ?? first
    const position = start === undefined ? equal : equal.concat(start)
    let rows: Iterator<Row, unknown, unknown> = (
      reverse ? sorted.before(position, after === undefined) : sorted.from(position, after !== undefined)
    )[Symbol.iterator]()
    for (let count = 0; count < limit;) {
      const step = rows.next()
      if (step.done) return
      const row = step.value
      if (!equal.every((value, at) => row[columns[at] ?? ''] === value)) return
      const value = valueIn(row, column)
      if (end !== undefined && isBehind(value, end, isFalling)) return
      if (first !== undefined && isBehind(first, value, isFalling)) continue
      if (!where.every((filter) => matches(row, filter))) continue
      count += 1
      yield row
      if (!firstOfEach) continue
      const next = [...equal, value as string | number]
      rows = (reverse ? sorted.before(next) : sorted.from(next, true))[Symbol.iterator]()
    }
  }
}

function positionOf(row: Row, columns: readonly string[]): Position | undefined {
  const position: (string | number)[] = []
  for (const column of columns) {
    const value = valueIn(row, column)
    if (value === null) return undefined
    position.push(value)
  }
  return position
}

function isBehind(value: Value | undefined, other: Value | undefined, isFalling: boolean): boolean {
  const order = compare(value as string | number, other as string | number)
  return isFalling ? order < 0 : order > 0
}

/** Compares two values of one column. */
function compare(left: string | number, right: string | number): number {
  return typeof left === 'number' ? left - (right as number) : compareIds(left, right as string)
}

/** Returns true if the row meets the condition. */
function matches(row: Row, filter: Filter): boolean {
  const value = valueIn(row, filter.column)
  if ('not' in filter) return value === null || !filter.not.includes(value)
  if (value === null) return false
  if ('in' in filter) return filter.in.includes(value)
  if ('prefix' in filter) return String(value).startsWith(filter.prefix)
  return 'from' in filter ? compare(value, filter.from) >= 0 : compare(value, filter.to) <= 0
}

/** All rows of one namespace. */
export interface MemorySpace {
  readonly tables: ReadonlyMap<string, HeldTable>
  readonly listeners: Set<(hint: StoreHint) => void>
}

export function newMemorySpace(): MemorySpace {
  const held = new Map(Object.entries(tables).map(([name, shape]) => [name, new HeldTable(shape)]))
  return { tables: held, listeners: new Set() }
}

function tableOf(space: MemorySpace, name: string): HeldTable {
  const table = space.tables.get(name)
  if (!table) throw new TypeError(`There is no table ${name}.`)
  return table
}

function nameOf(id: Id): string {
  return id.length === 1 ? String(id[0]) : JSON.stringify(id)
}

/** Returns the rows of a read. */
export function readFrom(space: MemorySpace, read: Read): readonly Row[] {
  if ('scan' in read) return [...tableOf(space, read.scan).scan(read)]
  if ('get' in read) {
    const { rows } = tableOf(space, read.get)
    return read.ids.flatMap((id) => rows.get(nameOf(id)) ?? [])
  }
  const { rows } = tableOf(space, read.walk)
  const found: Row[] = []
  for (let id: Id | undefined = read.from; id && found.length < read.limit;) {
    const row = rows.get(nameOf(id))
    if (!row) break
    found.push(row)
    const next = valueIn(row, read.by)
    id = next === null ? undefined : [...id.slice(0, -1), next]
  }
  return found
}

/** A row before and after a change of it. */
export interface Effect {
  readonly table: string
  readonly id: Id
  readonly before: Row | undefined
  readonly after: Row | undefined
}

/** Inserts, replaces or deletes a row. */
export function putRow(space: MemorySpace, table: string, id: Id, change: (before: Row | undefined) => Row | undefined): Effect {
  const held = tableOf(space, table)
  const name = nameOf(id)
  const before = held.rows.get(name)
  const after = change(before)
  held.set(name, before, after)
  return { table, id, before, after }
}

/** Takes effects back. Later changes of these rows must have been taken back before, apart from those of leases. */
export function undoAll(space: MemorySpace, effects: readonly Effect[]): void {
  for (const { table, id, before } of effects.toReversed()) putRow(space, table, id, () => before)
}

/** Applies a change. Returns undefined and changes nothing if one of its conditions does not hold. */
export function applyTo(space: MemorySpace, { writes }: Change): readonly Effect[] | undefined {
  const effects: Effect[] = []
  const put = (table: string, id: Id, after: Row | undefined): void => void effects.push(putRow(space, table, id, () => after))
  const apply = (write: Write): boolean => {
    if ('dropAll' in write) {
      const { scan } = write.dropAll
      const table = tableOf(space, scan)
      for (const row of [...table.scan({ ...write.dropAll, limit: Infinity })]) put(scan, table.idOf(row), undefined)
      return true
    }
    const name = 'insert' in write ? write.insert : 'update' in write ? write.update : 'put' in write ? write.put : write.drop
    const table = tableOf(space, name)
    const id = 'row' in write ? table.idOf(write.row) : write.id
    const before = table.rows.get(nameOf(id))
    if ('insert' in write && before) return false
    if ('row' in write) {
      put(name, id, write.row)
      return true
    }
    if (('update' in write || write.if) && !hasValues(before, write.if)) return false
    if ('update' in write) put(name, id, { ...before, ...write.set } as Row)
    else if (before) put(name, id, undefined)
    return true
  }
  try {
    if (writes.every(apply)) return effects
  } catch (error) {
    undoAll(space, effects)
    throw error
  }
  undoAll(space, effects)
  return undefined
}

function hasValues(row: Row | undefined, values: Readonly<Record<string, Value>> = {}): boolean {
  return row !== undefined && Object.entries(values).every(([column, value]) => valueIn(row, column) === value)
}

/** Limit of writes per turn: this many, with what they trigger, take some milliseconds. */
const mostPerTurn = 16

interface Memory {
  readonly spaces: Map<string, MemorySpace>
  openStores: number
  /** Clock of the store that was opened first. */
  clock: Clock
  /** Queue of all writes. */
  readonly queue: TurnQueue
}

/** Rows in memory. They are lost with the process. */
export interface MemoryRows extends RowStore {
  /** The open namespace. Throws `store-unavailable` if the store is not open. */
  readonly namespace: string
  /** The clock of all stores on this memory: leases are compared by it. */
  readonly clock: Pick<Clock, 'now'>
  /** Returns another store on the same memory, for another namespace or owner. */
  second(): MemoryRows
}

/** Creates rows in memory, which are lost with the process. They show how a store of rows must behave. */
export function memoryRows(): MemoryRows {
  return rowsOver({ spaces: new Map(), openStores: 0, clock: systemClock, queue: new TurnQueue(mostPerTurn) })
}

function rowsOver(memory: Memory): MemoryRows {
  let opened: string | undefined
  let timesOpened = 0
  const namespace = (): string => {
    if (opened === undefined) throw new SessionError('store-unavailable', 'The memory store is not open')
    return opened
  }
  const space = (): MemorySpace => {
    const name = namespace()
    const found = memory.spaces.get(name) ?? newMemorySpace()
    memory.spaces.set(name, found)
    return found
  }
  return {
    name: 'memory',
    capabilities: { durable: 'none', processes: 'one', maxRowBytes: Number.MAX_SAFE_INTEGER },
    get namespace() {
      return namespace()
    },
    clock: { now: () => memory.clock.now() },
    second: () => rowsOver(memory),
    async open(options) {
      if (opened !== undefined && opened !== options.namespace) {
        throw new SessionError('invalid-config', 'This memory store is open for another namespace. Use its second()')
      }
      opened = options.namespace
      timesOpened += 1
      if (memory.openStores === 0) memory.clock = options.clock
      memory.openStores += 1
    },
    async close() {
      if (timesOpened === 0) return
      // Runs the writes that were requested before the close.
      memory.queue.flush()
      timesOpened -= 1
      memory.openStores -= 1
      if (timesOpened === 0) opened = undefined
    },
    async read(reads): Promise<Answer> {
      const from = space()
      return { now: memory.clock.now(), rows: reads.map((read) => readFrom(from, read)) }
    },
    async write(changes) {
      const to = space()
      const apply = (change: Change): boolean => {
        const isStored = applyTo(to, change) !== undefined
        if (isStored) for (const hint of change.hints ?? []) for (const listener of to.listeners) listener(hint)
        return isStored
      }
      return memory.queue.run(() => changes.map(apply))
    },
    subscribe(listener) {
      const { listeners } = space()
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
