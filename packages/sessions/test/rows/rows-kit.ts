import { systemClock } from '@bowline/llm'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { matches, memoryRows } from '../../src/rows/memory-rows.ts'
import type { Change, Id, Read, Row, RowStore, Scan, Value, Write } from '../../src/rows/contract.ts'
import { tables } from '../../src/rows/tables.ts'
import type { TableName } from '../../src/rows/tables.ts'
import { programs } from './programs.ts'
import type { Conditional, Step } from './programs.ts'

/** Opens stores in a namespace of their own, and closes them after each test. */
function openedRows(newRows: () => RowStore): (namespace?: string) => Promise<RowStore> {
  const opened: RowStore[] = []
  afterEach(async () => {
    for (const rows of opened.splice(0)) await rows.close()
  })
  return async (namespace = `n${(namespaces += 1)}`) => {
    const rows = newRows()
    await rows.open({ namespace, clock: systemClock, owner: 'owner-a' })
    opened.push(rows)
    return rows
  }
}

let namespaces = 0

const scan = (table: TableName, index: string, rest: Partial<Scan> = {}): Scan => ({ scan: table, index, equal: [], limit: 100, ...rest })

/** A row without the columns that are null, so that stores may leave them out. */
function known(row: Row): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name, value]) => value !== null || name === 'body'))
}

const textOf = (row: Row): string => JSON.stringify(Object.entries(known(row)).sort(([left], [right]) => (left < right ? -1 : 1)))

async function rowsOf(rows: RowStore, read: Read): Promise<readonly Record<string, unknown>[]> {
  return ((await rows.read([read])).rows[0] ?? []).map(known)
}

async function idsOf(rows: RowStore, read: Scan): Promise<readonly unknown[]> {
  const { id } = tables[read.scan as TableName]
  return (await rowsOf(rows, read)).map((row) => (id.length === 1 ? row[id[0]] : id.map((column) => row[column])))
}

/** Compares the answers. The order of rows that are equal in all columns of the index is not defined. */
async function compareAnswers(read: Read, expected: readonly Row[], actual: readonly Row[], model: RowStore): Promise<void> {
  const texts = actual.map(textOf)
  if ('get' in read) return expect(texts.toSorted()).toEqual(expected.map(textOf).toSorted())
  if ('walk' in read) return expect(texts).toEqual(expected.map(textOf))
  const columns = (tables[read.scan as TableName].indexes as Readonly<Record<string, readonly string[]>>)[read.index] ?? []
  const positionOf = (row: Row): readonly unknown[] => columns.map((column) => row[column.replace('-', '')])
  expect(actual.map(positionOf)).toEqual(expected.map(positionOf))
  const [all = []] = (await model.read([{ ...read, firstOfEach: false, limit: 1000 }])).rows
  expect(all.map(textOf)).toEqual(expect.arrayContaining(texts))
  expect(new Set(texts).size).toBe(texts.length)
}

async function writeOf(write: Write | Conditional, model: RowStore): Promise<Write> {
  if (!('compared' in write)) return write
  const { compared, holds, write: given } = write
  const table = 'update' in given ? given.update : given.drop
  const [row] = holds ? await rowsOf(model, { get: table, ids: [given.id] }) : []
  return { ...given, if: Object.fromEntries(compared.map((column) => [column, (row?.[column] as Value | undefined) ?? null])) }
}

/** Executes the steps on both stores. All answers must be the same. */
async function runOnBoth(steps: readonly Step[], model: RowStore, rows: RowStore): Promise<void> {
  for (const step of steps) {
    if ('reads' in step) {
      const [expected, actual] = [await model.read(step.reads), await rows.read(step.reads)]
      for (const [at, read] of step.reads.entries()) await compareAnswers(read, expected.rows[at] ?? [], actual.rows[at] ?? [], model)
    } else {
      const changes: Change[] = []
      for (const writes of step.changes) {
        changes.push({ writes: await Promise.all(writes.map((write) => writeOf(write, model))), provisional: writes.length === 1 })
      }
      expect(await rows.write(changes)).toEqual(await model.write(changes))
    }
  }
  await compareAll(model, rows)
}

async function compareAll(model: RowStore, rows: RowStore): Promise<void> {
  for (const [table, { indexes }] of Object.entries(tables)) {
    const reads = Object.keys(indexes).map((index) => scan(table as TableName, index, { limit: 1000 }))
    const [expected, actual] = [await model.read(reads), await rows.read(reads)]
    for (const [at, read] of reads.entries()) await compareAnswers(read, expected.rows[at] ?? [], actual.rows[at] ?? [], model)
  }
}

const row = (columns: Readonly<Record<string, Value>>, body: Row['body'] = {}): Row => ({ ...columns, body })
const session = (key: string, columns: Readonly<Record<string, Value>> = {}, body?: Row['body']): Row => row({ key, ...columns }, body)
const entry = (id: string, parentId: string | null = null, session = 's'): Row => row({ session, id, n: 1, parentId })
const notice = (n: number, line: string): Row => row({ session: 's', n, line })
const put = (table: TableName, ...rows: readonly Row[]): Change => ({ writes: rows.map((row) => ({ put: table, row })) })
const update = (id: Id, set: Record<string, Value>, expected?: Record<string, Value>): Write => ({
  update: 'session',
  id,
  set,
  ...(expected && { if: expected }),
})

/** The promises of `RowStore`. `newRows` returns a store that is not open; all of them share their rows, if the store can do that. */
export function rowsKit(newRows: () => RowStore): void {
  const open = openedRows(newRows)

  describe('a change', () => {
    it('is stored completely or not at all, also if its last condition fails', async () => {
      const rows = await open()
      expect(await rows.write([put('session', session('a', { revision: 1 }, 'old'))])).toEqual([true])
      const writes = (last: Write): Change => ({
        writes: [
          update(['a'], { revision: 2 }, { revision: 1 }),
          { put: 'session', row: session('b') },
          { insert: 'session', row: session('c') },
          { drop: 'session', id: ['a'] },
          { insert: 'session', row: session('a', { revision: 3 }, 'new') },
          last,
        ],
      })
      for (const last of [
        update(['a'], { revision: 9 }, { revision: 4 }),
        update(['a'], { revision: 9 }, { agent: 'x' }),
        update(['a'], {}, { revision: 4 }),
        update(['missing'], { revision: 9 }),
        update(['missing'], {}),
        { insert: 'session', row: session('a') },
        { drop: 'session', id: ['a'], if: { revision: 4 } },
        { drop: 'session', id: ['missing'], if: {} },
      ] satisfies Write[]) {
        expect(await rows.write([writes(last)])).toEqual([false])
        expect(await rowsOf(rows, scan('session', 'key'))).toEqual([{ key: 'a', revision: 1, body: 'old' }])
      }
      for (const holds of [{ drop: 'session', id: ['a'], if: { revision: 1 } }, update(['a'], {}, { revision: 1, agent: null })] as const)
        expect(await rows.write([{ writes: [holds, update(['missing'], {})] }, { writes: [update(['a'], {})] }])).toEqual([false, true])
      expect(await rows.write([writes(update(['a'], {}, { revision: 3, agent: null }))])).toEqual([true])
      expect(await rowsOf(rows, scan('session', 'key'))).toEqual([
        { key: 'a', revision: 3, body: 'new' },
        { key: 'b', body: {} },
        { key: 'c', body: {} },
      ])
    })

    it('is independent of the others of its call, and comes after those before it', async () => {
      const rows = await open()
      const next = (revision: number): Change => ({ writes: [update(['a'], { revision: revision + 1 }, { revision })] })
      const insert: Change = { writes: [{ insert: 'session', row: session('a', { revision: 0 }) }] }
      expect(await rows.write([next(0), insert, insert, next(0), next(0), next(1), { ...next(2), provisional: true }])).toEqual(
        [false, true, false, true, false, true, true], // oxfmt-ignore
      )
      expect(await rowsOf(rows, { get: 'session', ids: [['a']] })).toEqual([{ key: 'a', revision: 3, body: {} }])
    })

    it('is stored also if the change before it failed at the same statements', async () => {
      const rows = await open()
      const inserts: readonly Write[] = [
        { insert: 'session', row: session('a') },
        { drop: 'session', id: ['b'] },
      ]
      expect(await rows.write([{ writes: [update(['missing'], {}), ...inserts] }, { writes: inserts }])).toEqual([false, true])
    })

    it('of many with the same condition is stored once', async () => {
      const rows = await open()
      await rows.write([put('session', session('a', { revision: 1 }))])
      const tries = Array.from({ length: 30 }, (_, n) =>
        rows.write([{ writes: [{ put: 'session', row: session(`try-${n}`) }, update(['a'], { revision: 2 }, { revision: 1 })] }]),
      )
      expect((await Promise.all(tries)).flat().filter(Boolean)).toHaveLength(1)
      expect(await rowsOf(rows, scan('session', 'key'))).toHaveLength(2)
      const inserts = Array.from({ length: 30 }, (_, n) =>
        rows.write([{ writes: [{ insert: 'session', row: session('b', { revision: n }) }] }]),
      )
      expect((await Promise.all(inserts)).flat().filter(Boolean)).toHaveLength(1)
    })

    it('replaces the given values only', async () => {
      const rows = await open()
      await rows.write([put('session', session('a', { revision: 1, agent: 'x', status: 'y' }, { is: 'kept' }))])
      await rows.write([{ writes: [update(['a'], { revision: 2, agent: null })] }])
      expect(await rowsOf(rows, { get: 'session', ids: [['a']] })).toEqual([{ key: 'a', revision: 2, status: 'y', body: { is: 'kept' } }])
      await rows.write([{ writes: [{ update: 'session', id: ['a'], set: { body: null } }] }])
      expect(await rowsOf(rows, { get: 'session', ids: [['a']] })).toEqual([{ key: 'a', revision: 2, status: 'y', body: null }])
    })

    it('is seen in its own namespace only', async () => {
      const [rows, others] = [await open(), await open()]
      await rows.write([put('session', session('a', { section: 1, activeAt: 1 }))])
      for (const read of [scan('session', 'key'), scan('session', 'list'), { get: 'session', ids: [['a']] }] satisfies Read[])
        expect(await rowsOf(others, read)).toEqual([])
      await others.write([{ writes: [{ dropAll: scan('session', 'key') }, { drop: 'session', id: ['a'] }] }])
      expect(await rowsOf(rows, scan('session', 'key'))).toHaveLength(1)
    })

    it('with a body that is too long is refused before anything is stored', async () => {
      const rows = await open()
      const { maxRowBytes } = rows.capabilities
      const ofBytes = (bytes: number): Row => session('b', {}, 'x'.repeat(bytes - '""'.length))
      if (maxRowBytes < Number.MAX_SAFE_INTEGER) {
        const writing = rows.write([put('session', session('a'), ofBytes(maxRowBytes + 1))])
        await expect(writing).rejects.toMatchObject({ code: 'entry-too-large' })
      }
      expect(await rowsOf(rows, scan('session', 'key'))).toEqual([])
      expect(await rows.write([put('session', ofBytes(Math.min(maxRowBytes, 2 ** 24)))])).toEqual([true])
    })

    it('tells its hints once it is stored', async () => {
      const rows = await open()
      const heard: unknown[] = []
      const stop = rows.subscribe((hint) => heard.push(hint))
      const insert = { writes: [{ insert: 'session', row: session('a') }], hints: [{ key: 'a', wake: true }] } satisfies Change
      await rows.write([insert, insert])
      expect(heard).toEqual([{ key: 'a', wake: true }])
      stop()
      await rows.write([{ writes: [], hints: [{ key: 'a', wake: true }] }])
      expect(heard).toHaveLength(1)
    })
  })

  describe('a read', () => {
    it('answers with the time of the store', async () => {
      const rows = await open()
      const before = Date.now()
      const { now } = await rows.read([])
      expect(now).toBeGreaterThanOrEqual(before)
      expect(now).toBeLessThanOrEqual(Date.now())
    })

    it('gets rows by their ids, and leaves out those that are missing', async () => {
      const rows = await open()
      await rows.write([put('entry', entry('a'), entry('b'), entry('a', null, 't'))])
      const ids = [
        ['s', 'a'],
        ['s', 'missing'],
        ['t', 'a'],
        ['s', 'b'],
        ['u', 'a'],
      ]
      const found = await rowsOf(rows, { get: 'entry', ids })
      expect(found.map(({ session, id }) => [session, id].join('')).toSorted()).toEqual(['sa', 'sb', 'ta'])
      expect(await rowsOf(rows, { get: 'entry', ids: [] })).toEqual([])
    })

    it('walks from a row to the next until there is none, or up to its limit', async () => {
      const rows = await open()
      await rows.write([put('entry', entry('a'), entry('b', 'a'), entry('c', 'b'), entry('x', 'missing'), entry('y', 'y'))])
      const walk = async (from: string, limit = 10): Promise<unknown[]> =>
        (await rowsOf(rows, { walk: 'entry', from: ['s', from], by: 'parentId', limit })).map(({ id }) => id)
      expect(await walk('c')).toEqual(['c', 'b', 'a'])
      expect(await walk('c', Infinity)).toEqual(['c', 'b', 'a'])
      expect(await walk('c', 2)).toEqual(['c', 'b'])
      expect(await walk('c', 0)).toEqual([])
      expect(await walk('x')).toEqual(['x'])
      expect(await walk('y', 3)).toEqual(['y', 'y', 'y'])
      expect(await walk('missing')).toEqual([])
    })

    it('scans texts in the order of their UTF-8 bytes', async () => {
      const rows = await open()
      const keys = ['\0', '\0\0', '\u0001', ' ', '%', 'A', 'B', '_', 'a', 'a\0', 'aa', 'z', 'é', 'ￜ', '￿', '😀', '😀a', '😁']
      await rows.write([put('session', ...keys.toReversed().map((key) => session(key)))])
      expect(await idsOf(rows, scan('session', 'key'))).toEqual(keys)
      expect(await idsOf(rows, scan('session', 'key', { reverse: true }))).toEqual(keys.toReversed())
      for (const [at, key] of keys.entries()) {
        expect(await idsOf(rows, scan('session', 'key', { after: [key] }))).toEqual(keys.slice(at + 1))
        expect(await idsOf(rows, scan('session', 'key', { from: key }))).toEqual(keys.slice(at))
        expect(await idsOf(rows, scan('session', 'key', { to: key }))).toEqual(keys.slice(0, at + 1))
        expect(await idsOf(rows, scan('session', 'key', { where: [{ column: 'key', prefix: key }] }))).toEqual(
          keys.filter((other) => other.startsWith(key)),
        )
      }
    })

    it.each(['\0', '\u0001\u0001', '\ud800', '\udfff', '\ud83d', 'a\ud800\udc00\ud800', '\u0001\u0003d800', '"\\', '\u2028'])(
      'returns the text %j as it is',
      async (text) => {
        const rows = await open()
        const row = session(text, { agent: text, tenant: text, section: 1, activeAt: 1 }, { [text]: [text] })
        await rows.write([put('session', row)])
        const filters = { where: [{ column: 'agent', in: [text, 'x'] }] }
        for (const read of [
          { get: 'session', ids: [[text]] },
          { get: 'session', ids: [[text], ['x']] },
          scan('session', 'tenantAgent', { equal: [text, text], ...filters }),
        ] satisfies Read[])
          expect(await rowsOf(rows, read)).toEqual([row])
        expect(await rows.write([{ writes: [update([text], { agent: 'b' }, { agent: text })] }])).toEqual([true])
      },
    )

    it('finds no row of which a column of the index is null', async () => {
      const rows = await open()
      await rows.write([put('session', session('a', { section: 1, activeAt: 1, agent: 'x' }), session('b', { section: 1, activeAt: 1 }))])
      await rows.write([put('session', session('c', { section: 1, agent: 'x' }))])
      expect(await idsOf(rows, scan('session', 'list', { limit: Infinity }))).toEqual(['a', 'b'])
      expect(await idsOf(rows, scan('session', 'agent'))).toEqual(['a'])
      expect(await idsOf(rows, scan('session', 'agent', { equal: ['x', 1] }))).toEqual(['a'])
      expect(await idsOf(rows, scan('session', 'key'))).toEqual(['a', 'b', 'c'])
      await rows.write([{ writes: [update(['a'], { section: null }), update(['b'], { agent: 'y' })] }])
      expect(await idsOf(rows, scan('session', 'list'))).toEqual(['b'])
      expect(await idsOf(rows, scan('session', 'agent'))).toEqual(['b'])
    })

    it('scans from any position, where one column ascends and another descends', async () => {
      const rows = await open()
      const places = [1, 2].flatMap((section) =>
        [3, 2, 1].flatMap((activeAt) => ['a', 'b', 'c'].map((name) => ({ section, activeAt, name }))),
      )
      const listed = places.map(({ section, activeAt, name }) => ({ key: `${name}${section}${activeAt}`, section, activeAt }))
      await rows.write([put('session', ...listed.map(({ key, ...columns }) => session(key, columns)).toReversed())])
      const keys = listed.map(({ key }) => key)
      for (const [at, { key, section, activeAt }] of listed.entries()) {
        const after = [section, activeAt, key]
        expect(await idsOf(rows, scan('session', 'list', { after }))).toEqual(keys.slice(at + 1))
        expect(await idsOf(rows, scan('session', 'list', { after, reverse: true }))).toEqual(keys.slice(0, at).toReversed())
        expect(await idsOf(rows, scan('session', 'list', { equal: [section], after: [activeAt, key], limit: 2 }))).toEqual(
          listed.filter((other, place) => other.section === section && place > at).slice(0, 2).map((other) => other.key), // oxfmt-ignore
        )
      }
      const within = async (rest: Partial<Scan>): Promise<readonly unknown[]> =>
        idsOf(rows, scan('session', 'list', { equal: [1], ...rest }))
      expect(await within({ from: 2 })).toEqual(keys.slice(0, 6))
      expect(await within({ from: 2, to: 2, reverse: true })).toEqual(['c12', 'b12', 'a12'])
      expect(await within({ to: 2, after: [3, 'a13'] })).toEqual(keys.slice(3, 9))
      expect(await within({ equal: [], after: [1] })).toEqual(keys.slice(9))
    })

    it.each([
      [{ column: 'agent', in: ['x', 'z'] }, ['a']],
      [{ column: 'agent', in: [] }, []],
      [{ column: 'agent', not: ['x'] }, ['b', 'c']],
      [{ column: 'agent', not: [] }, ['a', 'b', 'c']],
      [{ column: 'activeAt', from: 2 }, ['b', 'c']],
      [{ column: 'activeAt', to: 2 }, ['a', 'b']],
      [{ column: 'agent', from: 'x' }, ['a', 'b']],
      [{ column: 'activeAt', in: [1, 3] }, ['a', 'c']],
      [{ column: 'agent', prefix: 'x' }, ['a', 'b']],
    ] as const)('scans rows that meet the condition %j', async (filter, keys) => {
      const rows = await open()
      const all = [session('a', { agent: 'x', activeAt: 1 }), session('b', { agent: 'xy', activeAt: 2 }), session('c', { activeAt: 3 })]
      await rows.write([put('session', ...all)])
      expect(all.filter((row) => matches(row, filter)).map(({ key }) => key)).toEqual(keys)
      expect(await idsOf(rows, scan('session', 'key', { where: [filter] }))).toEqual(keys)
      await rows.write([{ writes: [{ dropAll: scan('session', 'key', { where: [filter], limit: 0 }) }] }])
      expect(await idsOf(rows, scan('session', 'key'))).toEqual(['a', 'b', 'c'].filter((key) => !(keys as readonly string[]).includes(key)))
    })

    it('finds the first row of each value', async () => {
      const rows = await open()
      const notices = ['a', 'b', 'c'].flatMap((line, at) => [1, 2, 3].map((n) => notice(10 * at + n, line)))
      await rows.write([put('notice', ...notices)])
      const first = async (rest: Partial<Scan> = {}): Promise<unknown[]> =>
        (await rowsOf(rows, scan('notice', 'line', { equal: ['s'], firstOfEach: true, ...rest }))).map(({ n }) => n)
      expect(await first()).toEqual([1, 11, 21])
      expect(await first({ reverse: true })).toEqual([23, 13, 3])
      expect(await first({ limit: Infinity })).toEqual([1, 11, 21])
      expect(await first({ limit: 2 })).toEqual([1, 11])
      expect(await first({ after: ['a', 1] })).toEqual([2, 11, 21])
      expect(await first({ after: ['a'], to: 'b' })).toEqual([11])
      expect(await first({ where: [{ column: 'n', not: [1, 11, 12] }] })).toEqual([2, 13, 21])
      expect(await first({ equal: ['t'] })).toEqual([])
    })
  })
}

/** Random programs: a store must give the answers of the rows in memory. */
export function comparedRows(newRows: () => RowStore): void {
  it('random programs get the answers of the rows in memory', async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (steps) => {
        const [model, rows] = [memoryRows(), newRows()]
        const options = { namespace: `n${(namespaces += 1)}`, clock: systemClock, owner: 'owner-a' }
        await model.open(options)
        await rows.open(options)
        try {
          await runOnBoth(steps, model, rows)
        } finally {
          await rows.close()
        }
      }),
      randomRuns(40),
    )
  })
}
