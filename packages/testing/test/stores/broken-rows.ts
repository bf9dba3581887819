import { SessionError } from '@bowline/sessions'
import type { StoreHint } from '@bowline/sessions'
import { memoryRows, tables } from '@bowline/sessions/rows'
import type { Answer, Change, Read, Row, RowStore, Scan, Table, Write } from '@bowline/sessions/rows'

type MemoryRows = ReturnType<typeof memoryRows>
type OpenOptions = Parameters<RowStore['open']>[0]

/** Server of several stores: their rows, connection and listeners. */
export interface Place {
  readonly memory: MemoryRows
  /** The connection breaks at this moment from now on. */
  cutAt: number
  readonly listeners: Set<(hint: StoreHint) => void>
}

/** Replaces methods of a correct store. `rows` is that store, and `place` what it stands on. */
type Fault = (rows: RowStore, place: Place) => Partial<RowStore>

export interface BrokenRows {
  readonly name: string
  /** Part of the name of a test that must fail. */
  readonly found: string
  readonly fault: Fault
}

const maxRowBytes = 5_000
const shapes: Readonly<Record<string, Table>> = tables

/** A store of many processes in memory, with a limit and with a connection that breaks as planned. */
export function plannedRows(place: Place, fault: Fault = () => ({})): RowStore {
  const { write, ...others } = boundless(place)
  const rows: RowStore = {
    ...others,
    async write(changes) {
      breakAt(place)
      for (const { writes } of changes) for (const write of writes) checkLength(bodyOf(write))
      const stored = await write(changes)
      breakAt(place)
      return stored
    },
  }
  return { ...rows, ...fault(rows, place) }
}

/** The same without its limit, and with a connection that lasts. */
function boundless({ memory }: Place): RowStore {
  const { name, open, close, read, write, subscribe } = memory.second()
  return { name, capabilities: { durable: 'process', processes: 'many', maxRowBytes }, open, close, read, write, subscribe }
}

export function newPlace(): Place {
  return { memory: memoryRows(), cutAt: 0, listeners: new Set() }
}

function textOf(row: Row, column: string): string {
  const value = row[column]
  return typeof value === 'string' ? value : ''
}

function isCut(place: Place): boolean {
  place.cutAt -= 1
  return place.cutAt === 0
}

function lost(): Error {
  return new SessionError('store-unavailable', 'The connection is lost')
}

function breakAt(place: Place): void {
  if (isCut(place)) throw lost()
}

function bodyOf(write: Write): Row['body'] | undefined {
  return 'row' in write ? write.row.body : 'update' in write ? write.set.body : undefined
}

function checkLength(body: Row['body'] | undefined, lengthOf: (text: string) => number = Buffer.byteLength): void {
  if (body === undefined || lengthOf(JSON.stringify(body)) <= maxRowBytes) return
  throw new SessionError('entry-too-large', 'The row is too long')
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Changes each write before the store gets it. */
function changing(change: (write: Write) => Write): Fault {
  return (rows) => ({ write: (changes) => rows.write(changes.map((each) => ({ ...each, writes: each.writes.map(change) }))) })
}

/** Changes each read before the store gets it. */
function reading(change: (read: Read) => Read): Fault {
  return (rows) => ({ read: (reads) => rows.read(reads.map(change)) })
}

/** Changes the rows that answer a read. */
function answering(change: (found: readonly Row[], read: Read, rows: RowStore) => readonly Row[] | Promise<readonly Row[]>): Fault {
  return (rows) => ({
    async read(reads) {
      const { now, rows: found } = await rows.read(reads)
      return { now, rows: await Promise.all(reads.map(async (read, at) => change(found[at] ?? [], read, rows))) }
    },
  })
}

/** Changes the time of each answer. */
function timed(timeOf: (options: OpenOptions | undefined) => number): Fault {
  return (rows) => {
    let opened: OpenOptions | undefined
    return {
      open: (options) => rows.open((opened = options)),
      read: async (reads): Promise<Answer> => ({ ...(await rows.read(reads)), now: timeOf(opened) }),
    }
  }
}

const isPlain = ({ writes }: Change): boolean => writes.every((write) => 'put' in write)

function without(field: keyof Scan): Fault {
  return reading((read) => {
    if (!('scan' in read)) return read
    const { [field]: _ignored, ...rest } = read
    return { ...rest, limit: field === 'limit' ? Infinity : read.limit } as Scan
  })
}

/** Tells hints by itself. */
function telling(
  hintsOf: (changes: readonly Change[], stored: readonly boolean[]) => readonly StoreHint[],
  moment: 'before' | 'after',
): Fault {
  return (rows, { listeners }) => {
    const tell = (hints: readonly StoreHint[]): void => hints.forEach((hint) => listeners.forEach((listener) => listener(hint)))
    return {
      async write(changes) {
        if (moment === 'before') tell(hintsOf(changes, []))
        if (moment === 'before') await turn()
        const stored = await rows.write(changes)
        if (moment === 'after') tell(hintsOf(changes, stored))
        return stored
      },
      subscribe(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
  }
}

const allHints = (changes: readonly Change[]): readonly StoreHint[] => changes.flatMap(({ hints = [] }) => hints)
const storedHints = (changes: readonly Change[], stored: readonly boolean[]): readonly StoreHint[] =>
  changes.flatMap(({ hints = [] }, at) => (stored[at] ? hints : []))

const whole = 'S34: a change is stored completely or not at all'
const lostAnswer = 'S195: a change whose answer is lost'
const range = 'S47: a scan is limited to equal values'
const long = 'S49: a body beyond the limit'

/** Ways to be wrong, one at a time. */
export const brokenRows: readonly BrokenRows[] = [
  {
    name: 'stores the half of a change that it refuses',
    found: whole,
    fault: (rows) => ({
      async write(changes) {
        const stored: boolean[] = []
        for (const change of changes) {
          const [isStored = false] = await rows.write([change])
          stored.push(isStored)
          if (!isStored) await rows.write([{ writes: change.writes.slice(0, 1) }])
        }
        return stored
      },
    }),
  },
  {
    name: 'forgets some of the changes that it acknowledges',
    found: 'S34: a change that was acknowledged',
    fault: (rows) => {
      let count = 0
      return { write: async (changes) => ((count += 1) % 5 === 0 ? changes.map(() => true) : rows.write(changes)) }
    },
  },
  {
    name: 'forgets its rows when it is closed',
    found: 'S34: everything that was acknowledged is there after reopening',
    fault: (rows) => ({
      async close() {
        const all = Object.entries(shapes).flatMap(([scan, { indexes }]) => Object.keys(indexes).map((index) => ({ scan, index })))
        const writes = all.map((each): Write => ({ dropAll: { ...each, equal: [], limit: 0 } }))
        await rows.write([{ writes }]).catch(() => [])
        await rows.close()
      },
    }),
  },
  {
    name: 'stores the changes of a call in another order',
    found: 'S34: changes of a call are stored in their order',
    fault: (rows) => ({ write: async (changes) => (await rows.write(changes.toReversed())).toReversed() }),
  },
  {
    name: 'executes the writes of a change in another order',
    found: 'S34: writes of a change are executed in their order',
    fault: (rows) => ({ write: (changes) => rows.write(changes.map((each) => ({ ...each, writes: each.writes.toReversed() }))) }),
  },
  {
    name: 'answers before it has stored a change',
    found: 'S34: a change that was acknowledged',
    fault: (rows) => ({
      async write(changes) {
        if (!changes.every(isPlain)) return rows.write(changes)
        void turn()
          .then(() => rows.write(changes))
          .catch(() => undefined) // The test has closed the store.
        return changes.map(() => true)
      },
    }),
  },
  {
    name: 'throws if a condition does not hold',
    found: whole,
    fault: (rows) => ({
      async write(changes) {
        const stored = await rows.write(changes)
        if (stored.includes(false)) throw new TypeError('A condition does not hold.')
        return stored
      },
    }),
  },
  {
    name: 'throws an error without a code once it is closed',
    found: 'S11: a closed store',
    fault: (rows) => ({ read: (reads) => rows.read(reads).catch(() => Promise.reject(new Error('closed'))) }),
  },
  {
    name: 'ignores the values that a row must have',
    found: whole,
    fault: changing((write) => ('update' in write && write.if ? { ...write, if: {} } : write)),
  },
  {
    name: 'ignores that a row must have no value',
    found: whole,
    fault: changing((write) => {
      if (!('update' in write) || !write.if) return write
      return { ...write, if: Object.fromEntries(Object.entries(write.if).filter(([column]) => column !== 'agent')) }
    }),
  },
  {
    name: 'deletes a row whatever its values are',
    found: whole,
    fault: changing((write) => ('drop' in write ? { drop: write.drop, id: write.id } : write)),
  },
  { name: 'replaces a row that is inserted again', found: whole, fault: changing((write) => ('insert' in write ? { put: write.insert, row: write.row } : write)) }, // oxfmt-ignore
  {
    name: 'replaces the whole row by an update',
    found: 'S34: an update replaces the given values only',
    fault: changing((write) => {
      if (!('update' in write) || write.if) return write
      const id = Object.fromEntries((shapes[write.update]?.id ?? []).map((column, at) => [column, write.id[at] ?? null]))
      return { put: write.update, row: { ...id, body: null, ...write.set } }
    }),
  },
  {
    name: 'lets two writers win, because it looks first and stores later',
    found: 'S34: of many changes with the same condition',
    fault: (rows) => ({
      async write(changes) {
        const holding = await Promise.all(changes.map(({ writes }) => holds(rows, writes)))
        await turn()
        const loose = changes.filter((_, at) => holding[at]).map(({ writes }) => ({ writes: writes.map(withoutCondition) }))
        await rows.write(loose)
        return holding
      },
    }),
  },
  {
    name: 'changes rows that it has returned',
    found: 'S44: rows that were given or returned',
    fault: (rows) => {
      const returned: Row[] = []
      return {
        async read(reads) {
          const answer = await rows.read(reads)
          const copies = answer.rows.map((found) => found.map((row) => ({ ...row })))
          returned.push(...copies.flat())
          return { ...answer, rows: copies }
        },
        async write(changes) {
          const stored = await rows.write(changes)
          const updates = changes.flatMap(({ writes }) => writes.flatMap((write) => ('update' in write ? [write] : [])))
          for (const { id, set } of updates) for (const row of returned) if (row['key'] === id[0]) Object.assign(row, set)
          return stored
        },
      }
    },
  },
  {
    name: 'changes rows that it was given',
    found: 'S44: rows that were given or returned',
    fault: changing((write) => ('row' in write ? { ...write, row: Object.assign(write.row, { body: write.row.body }) } : write)),
  },
  {
    name: 'orders texts by their UTF-16 code units',
    found: 'S47: texts are in the order',
    fault: answering((found, read) => {
      if (!('scan' in read) || read.index !== 'key') return found
      const sorted = found.toSorted((left, right) => (textOf(left, 'key') < textOf(right, 'key') ? -1 : 1))
      return read.reverse ? sorted.toReversed() : sorted
    }),
  },
  {
    name: 'ignores the case of texts',
    found: 'S47: texts are in the order',
    fault: answering((found, read) => {
      if (!('scan' in read) || read.index !== 'key') return found
      return found.toSorted((left, right) => textOf(left, 'key').localeCompare(textOf(right, 'key')))
    }),
  },
  {
    name: 'has rows in an index of which a column is null',
    found: 'S47: a row is in no index',
    fault: answering(async (found, read, rows) => {
      if (!('scan' in read) || read.index !== 'agent') return found
      const [all = []] = (await rows.read([{ ...read, index: 'key', equal: [] }])).rows
      return [...found, ...all.filter(({ agent }) => (agent ?? null) === null)]
    }),
  },
  {
    name: 'returns null for missing rows',
    found: 'S44: rows are read by their ids',
    fault: answering((found, read) => ('get' in read && found.length < read.ids.length ? [...found, null as unknown as Row] : found)),
  },
  {
    name: 'ignores the second part of an id',
    found: 'S34: a row is found by all parts of its id',
    fault: changing((write) => {
      if (!('drop' in write) || write.id.length < 2) return write
      return { dropAll: { scan: write.drop, index: 'id', equal: write.id.slice(0, 1), limit: 0 } }
    }),
  },
  {
    name: 'ignores the limit of a walk',
    found: 'S44: a walk goes',
    fault: reading((read) => ('walk' in read && read.limit > 0 ? { ...read, limit: 100 } : read)),
  },
  {
    name: 'answers reads in another order',
    found: 'S44: a call answers each of its reads',
    fault: (rows) => ({ read: (reads) => rows.read(reads.toReversed()) }),
  },
  { name: 'ignores after', found: 'S47: a scan begins after any position', fault: without('after') },
  { name: 'ignores reverse', found: 'S47: a scan begins after any position', fault: without('reverse') },
  { name: 'ignores from', found: range, fault: without('from') },
  { name: 'ignores to', found: range, fault: without('to') },
  { name: 'ignores limit', found: range, fault: without('limit') },
  { name: 'ignores where', found: 'S47: a scan finds, and dropAll deletes', fault: without('where') },
  { name: 'ignores firstOfEach', found: 'S47: a scan finds the first row of each value', fault: without('firstOfEach') },
  {
    name: 'deletes no more rows than a limit says',
    found: 'S47: dropAll deletes the rows in its range, whatever its limit',
    fault: (rows) => ({
      async write(changes) {
        const limited = async (write: Write): Promise<readonly Write[]> => {
          if (!('dropAll' in write)) return [write]
          const [found = []] = (await rows.read([write.dropAll])).rows
          const { id = [] } = shapes[write.dropAll.scan] ?? {}
          return found.map((row) => ({ drop: write.dropAll.scan, id: id.map((column) => row[column] as string) }))
        }
        const changed = changes.map(async ({ writes }) => ({ writes: (await Promise.all(writes.map(limited))).flat() }))
        return rows.write(await Promise.all(changed))
      },
    }),
  },
  {
    name: 'shows several moments in one answer',
    found: 'S196: a read shows one moment, also while others write',
    fault: (rows) => ({
      async read(reads) {
        const answers: Answer[] = [await rows.read([])]
        for (const read of reads) {
          answers.push(await rows.read([read]))
          await turn()
        }
        return { now: answers[0]?.now ?? 0, rows: answers.flatMap((answer) => answer.rows) }
      },
    }),
  },
  {
    name: 'remembers rows that another process has changed',
    found: 'S196: what one store has acknowledged',
    fault: (rows) => {
      const remembered = new Map<string, Answer>()
      return {
        async read(reads) {
          const name = JSON.stringify(reads)
          const answer = remembered.get(name) ?? (await rows.read(reads))
          remembered.set(name, answer)
          return answer
        },
        async write(changes) {
          remembered.clear()
          return rows.write(changes)
        },
      }
    },
  },
  {
    name: 'shows all namespaces',
    found: 'S6: a row is seen in its own namespace only',
    fault: (rows) => ({ open: (options) => rows.open({ ...options, namespace: 'all' }) }),
  },
  { name: 'has no time', found: 'S67: each answer has the time', fault: timed(() => Number.NaN) },
  {
    name: 'counts seconds',
    found: 'S67: each answer has the time',
    fault: timed((options) => Math.floor((options?.clock.now() ?? 0) / 1000)),
  },
  { name: 'has the time of its process', found: 'S57: all stores have one time', fault: timed((options) => options?.clock.now() ?? 0) },
  {
    name: 'tells hints of changes that it refuses',
    found: 'S48: the hints of a change that is not stored',
    fault: telling(allHints, 'after'),
  },
  {
    name: 'tells hints before their change is stored',
    found: 'S48: the hints of a change are told once',
    fault: telling(allHints, 'before'),
  },
  { name: 'tells hints of other namespaces', found: 'S48: hints reach the other stores', fault: telling(storedHints, 'after') },
  {
    name: 'tells hints to its own process only',
    found: 'S48: hints reach the other stores',
    fault: (rows) => telling(storedHints, 'after')(rows, newPlace()),
  },
  {
    name: 'tells hints to the last listener only',
    found: 'S48: the hints of a change are told once',
    fault: (rows) => {
      let end = (): void => undefined
      return {
        subscribe(listener) {
          end()
          return (end = rows.subscribe(listener))
        },
      }
    },
  },
  {
    name: 'never answers a read of nothing',
    found: 'S67: each answer has the time',
    fault: (rows) => ({ read: (reads) => (reads.length === 0 ? new Promise(() => undefined) : rows.read(reads)) }),
  },
  {
    name: 'stores what comes before a row that is too long',
    found: long,
    fault: (rows) => ({
      async write(changes) {
        const stored: boolean[] = []
        for (const change of changes) stored.push(...(await rows.write([change])))
        return stored
      },
    }),
  },
  {
    name: 'measures characters instead of bytes',
    found: long,
    fault(_rows, place) {
      const { write, ...others } = boundless(place)
      return {
        ...others,
        write(changes) {
          for (const { writes } of changes) for (const each of writes) checkLength(bodyOf(each), ({ length }) => length)
          return write(changes)
        },
      }
    },
  },
  { name: 'has no limit', found: long, fault: (_rows, place) => boundless(place) },
  {
    name: 'stores the half of a change whose answer is lost',
    found: lostAnswer,
    fault: (rows, place) => ({
      async write(changes) {
        if (!isCut(place)) return rows.write(changes)
        await rows.write(changes.map((change) => ({ ...change, writes: change.writes.slice(0, 2) })))
        throw lost()
      },
    }),
  },
  {
    name: 'says of a change whose answer is lost that it was refused',
    found: lostAnswer,
    fault: (rows) => ({ write: (changes) => rows.write(changes).catch(() => changes.map(() => false)) }),
  },
  {
    name: 'acknowledges a change that never arrived',
    found: lostAnswer,
    fault: (rows) => ({ write: (changes) => rows.write(changes).catch(() => changes.map(() => true)) }),
  },
  {
    name: 'says that it keeps nothing',
    found: 'S177, S181: the kit tests all',
    fault: (rows) => ({ capabilities: { ...rows.capabilities, durable: 'none' } }),
  },
]

function withoutCondition(write: Write): Write {
  if ('update' in write || 'drop' in write) return { ...write, if: {} }
  return 'insert' in write ? { put: write.insert, row: write.row } : write
}

/** Returns whether the conditions of these writes hold now. */
async function holds(rows: RowStore, writes: readonly Write[]): Promise<boolean> {
  for (const write of writes) {
    const [table, id] =
      'update' in write ? [write.update, write.id] : 'insert' in write ? [write.insert, [write.row['key'] as string]] : ['', []]
    if (table === '') continue
    const [found = []] = (await rows.read([{ get: table, ids: [id] }])).rows
    const [row] = found
    if ('insert' in write ? row : !row || Object.entries(('if' in write && write.if) || {}).some(([name, value]) => row[name] !== value))
      return false
  }
  return true
}
