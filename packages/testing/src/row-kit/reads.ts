import assert from 'node:assert/strict'
import type { Filter, Read, Row, RowStore, Scan } from '@bowline/sessions/rows'
import { idsOf, keysOf, newRow, put, rowsOf, scan, session, update } from './kit.ts'
import type { RowTopic } from './kit.ts'

const entry = (id: string, parentId: string | null = null, of = 's'): Row => newRow({ session: of, id, n: 1, parentId })

/** Texts in the order of their UTF-8 bytes. Other orders place those with accents or of several code units elsewhere. */
const orderedTexts = ['\0', '\0\0', '\u0001', ' ', '%', 'A', 'B', '_', 'a', 'a\0', 'aa', 'z', 'é', 'ￜ', '￿', '😀', '😀a', '😁']

/** Texts that a store could change: unpaired surrogates, escapes, and the end of a text in C. */
const oddTexts = ['\0', '\u0001\u0001', '\ud800', '\udfff', '\ud83d', 'a\ud800\udc00\ud800', '\u0001\u0003d800', '"\\', '\u2028']

const filtered: readonly (readonly [Filter, readonly string[]])[] = [
  [{ column: 'agent', in: ['x', 'z'] }, ['a']],
  [{ column: 'agent', in: [] }, []],
  [{ column: 'agent', not: ['x'] }, ['b', 'c']],
  [{ column: 'agent', not: [] }, ['a', 'b', 'c']],
  [{ column: 'activeAt', from: 2 }, ['b', 'c']],
  [{ column: 'activeAt', to: 2 }, ['a', 'b']],
  [{ column: 'agent', from: 'x' }, ['a', 'b']],
  [{ column: 'activeAt', in: [1, 3] }, ['a', 'c']],
  [{ column: 'agent', prefix: 'x' }, ['a', 'b']],
  [{ column: 'agent', prefix: '_' }, []],
]

/** Rows in an index of which one column ascends and the next one descends, in its order. */
const listed = [1, 2].flatMap((section) =>
  [3, 2, 1].flatMap((activeAt) => ['a', 'b', 'c'].map((name) => ({ key: `${name}${section}${activeAt}`, section, activeAt }))),
)

async function putListed(rows: RowStore): Promise<readonly string[]> {
  await rows.write([put('session', ...listed.map(({ key, ...columns }) => session(key, columns)).toReversed())])
  return listed.map(({ key }) => key)
}

/** Tests of reads of rows by their ids, and by the id in a column. */
export const gets: RowTopic = ({ it }) => {
  it('S44: rows are read by their ids, and those that are missing are left out', async (rows) => {
    await rows.write([put('entry', entry('a'), entry('b'), entry('a', null, 't'))])
    const ids = [
      ['s', 'a'],
      ['s', 'missing'],
      ['t', 'a'],
      ['s', 'b'],
      ['u', 'a'],
    ]
    const found = await rowsOf(rows, { get: 'entry', ids })
    assert.deepEqual(found.map(({ session: of, id }) => [of, id].join('')).toSorted(), ['sa', 'sb', 'ta'])
    assert.deepEqual(await rowsOf(rows, { get: 'entry', ids: [] }), [])
  })

  it('S44: a walk goes from a row to the next one until there is none, or up to its limit', async (rows) => {
    await rows.write([put('entry', entry('a'), entry('b', 'a'), entry('c', 'b'), entry('x', 'missing'), entry('y', 'y'))])
    const walk = async (from: string, limit = 10): Promise<unknown[]> =>
      (await rowsOf(rows, { walk: 'entry', from: ['s', from], by: 'parentId', limit })).map(({ id }) => id)
    assert.deepEqual(await walk('c'), ['c', 'b', 'a'])
    assert.deepEqual(await walk('c', Infinity), ['c', 'b', 'a'])
    assert.deepEqual(await walk('c', 2), ['c', 'b'])
    assert.deepEqual(await walk('c', 0), [])
    assert.deepEqual(await walk('x'), ['x'])
    assert.deepEqual(await walk('y', 3), ['y', 'y', 'y'])
    assert.deepEqual(await walk('missing'), [])
  })

  it('S44: a call answers each of its reads, in their order', async (rows) => {
    await rows.write([put('session', session('a'), session('b')), put('entry', entry('a'))])
    const reads: readonly Read[] = [
      { get: 'session', ids: [['b']] },
      scan('session', 'key'),
      { get: 'entry', ids: [['s', 'a']] },
      { walk: 'entry', from: ['s', 'missing'], by: 'parentId', limit: 1 },
    ]
    assert.deepEqual(
      (await rows.read(reads)).rows.map((found) => found.map(({ key, id }) => key ?? id)),
      [['b'], ['a', 'b'], ['a'], []],
    )
    assert.deepEqual((await rows.read([])).rows, [])
  })
}

/** Tests of reads in the order of an index. */
export const scans: RowTopic = ({ it }) => {
  it('S47: texts are in the order of their UTF-8 bytes', async (rows) => {
    await rows.write([put('session', ...orderedTexts.toReversed().map((key) => session(key)))])
    const found = (rest: Partial<Scan> = {}) => idsOf(rows, scan('session', 'key', rest))
    assert.deepEqual(await found(), orderedTexts)
    assert.deepEqual(await found({ reverse: true }), orderedTexts.toReversed())
    for (const [at, key] of orderedTexts.entries()) {
      assert.deepEqual(await found({ after: [key] }), orderedTexts.slice(at + 1))
      assert.deepEqual(await found({ from: key }), orderedTexts.slice(at))
      assert.deepEqual(await found({ to: key }), orderedTexts.slice(0, at + 1))
      const startWithKey = orderedTexts.filter((other) => other.startsWith(key))
      assert.deepEqual(await found({ where: [{ column: 'key', prefix: key }] }), startWithKey)
    }
  })

  for (const text of oddTexts) {
    it(`S44: the text ${JSON.stringify(text)} is returned as it is`, async (rows) => {
      const odd = session(text, { agent: text, tenant: text, section: 1, activeAt: 1 }, { [text]: [text] })
      await rows.write([put('session', odd)])
      const where = [{ column: 'agent', in: [text, 'x'] }]
      const reads: readonly Read[] = [
        { get: 'session', ids: [[text]] },
        { get: 'session', ids: [[text], ['x']] },
        scan('session', 'tenantAgent', { equal: [text, text], where }),
      ]
      for (const read of reads) assert.deepEqual(await rowsOf(rows, read), [odd])
      assert.deepEqual(await rows.write([{ writes: [update([text], { agent: 'b' }, { agent: text })] }]), [true])
    })
  }

  it('S47: a row is in no index of which one of its columns is null', async (rows) => {
    await rows.write([put('session', session('a', { section: 1, activeAt: 1, agent: 'x' }), session('b', { section: 1, activeAt: 1 }))])
    await rows.write([put('session', session('c', { section: 1, agent: 'x' }))])
    assert.deepEqual(await idsOf(rows, scan('session', 'list', { limit: Infinity })), ['a', 'b'])
    assert.deepEqual(await idsOf(rows, scan('session', 'agent')), ['a'])
    assert.deepEqual(await idsOf(rows, scan('session', 'agent', { equal: ['x', 1] })), ['a'])
    assert.deepEqual(await keysOf(rows), ['a', 'b', 'c'])
    await rows.write([{ writes: [update(['a'], { section: null }), update(['b'], { agent: 'y' })] }])
    assert.deepEqual(await idsOf(rows, scan('session', 'list')), ['b'])
    assert.deepEqual(await idsOf(rows, scan('session', 'agent')), ['b'])
    await rows.write([{ writes: [{ dropAll: scan('session', 'agent') }] }])
    assert.deepEqual(await keysOf(rows), ['a', 'c'])
  })

  it('S47: a scan begins after any position, where one column ascends and another one descends', async (rows) => {
    const keys = await putListed(rows)
    for (const [at, { key, section, activeAt }] of listed.entries()) {
      const after = [section, activeAt, key]
      assert.deepEqual(await idsOf(rows, scan('session', 'list', { after })), keys.slice(at + 1))
      assert.deepEqual(await idsOf(rows, scan('session', 'list', { after, reverse: true })), keys.slice(0, at).toReversed())
      const later = listed.filter((other, place) => other.section === section && place > at).map((other) => other.key)
      const read = scan('session', 'list', { equal: [section], after: [activeAt, key], limit: 2 })
      assert.deepEqual(await idsOf(rows, read), later.slice(0, 2))
    }
  })

  it('S47: a scan is limited to equal values, a range and a number of rows', async (rows) => {
    const keys = await putListed(rows)
    const within = (rest: Partial<Scan>) => idsOf(rows, scan('session', 'list', { equal: [1], ...rest }))
    assert.deepEqual(await within({}), keys.slice(0, 9))
    assert.deepEqual(await within({ from: 2 }), keys.slice(0, 6))
    assert.deepEqual(await within({ from: 2, to: 2, reverse: true }), ['c12', 'b12', 'a12'])
    assert.deepEqual(await within({ to: 2, after: [3, 'a13'] }), keys.slice(3, 9))
    assert.deepEqual(await within({ equal: [], after: [1] }), keys.slice(9))
    assert.deepEqual(await within({ limit: 4 }), keys.slice(0, 4))
    assert.deepEqual(await within({ limit: 2, reverse: true }), ['c11', 'b11'])
    assert.deepEqual(await within({ equal: [1, 2] }), keys.slice(3, 6))
    assert.deepEqual(await within({ equal: [7] }), [])
  })

  for (const [filter, keys] of filtered) {
    it(`S47: a scan finds, and dropAll deletes, the rows that meet ${JSON.stringify(filter)}`, async (rows) => {
      const all = [session('a', { agent: 'x', activeAt: 1 }), session('b', { agent: 'xy', activeAt: 2 }), session('c', { activeAt: 3 })]
      await rows.write([put('session', ...all)])
      const read = scan('session', 'key', { where: [filter] })
      assert.deepEqual(await idsOf(rows, read), keys)
      assert.deepEqual(await idsOf(rows, { ...read, limit: 1 }), keys.slice(0, 1))
      assert.deepEqual(await rows.write([{ writes: [{ dropAll: { ...read, limit: 0 } }] }]), [true])
      const rest = ['a', 'b', 'c'].filter((key) => !keys.includes(key))
      assert.deepEqual(await keysOf(rows), rest)
    })
  }

  it('S47: dropAll deletes the rows in its range, whatever its limit', async (rows) => {
    const keys = await putListed(rows)
    const drop = (rest: Partial<Scan>) => rows.write([{ writes: [{ dropAll: scan('session', 'list', { limit: 1, ...rest }) }] }])
    assert.deepEqual(await drop({ equal: [1], from: 3 }), [true])
    assert.deepEqual(await idsOf(rows, scan('session', 'list')), keys.slice(3))
    assert.deepEqual(await drop({ equal: [2], after: [2, 'b22'] }), [true])
    assert.deepEqual(await idsOf(rows, scan('session', 'list')), keys.slice(3, 14))
    assert.deepEqual(await drop({}), [true])
    assert.deepEqual(await keysOf(rows), [])
  })

  it('S47: a scan finds the first row of each value', async (rows) => {
    const notices = ['a', 'b', 'c'].flatMap((line, at) => [1, 2, 3].map((n) => newRow({ session: 's', n: 10 * at + n, line })))
    await rows.write([put('notice', ...notices)])
    const first = async (rest: Partial<Scan> = {}): Promise<unknown[]> =>
      (await rowsOf(rows, scan('notice', 'line', { equal: ['s'], firstOfEach: true, ...rest }))).map(({ n }) => n)
    assert.deepEqual(await first(), [1, 11, 21])
    assert.deepEqual(await first({ reverse: true }), [23, 13, 3])
    assert.deepEqual(await first({ limit: Infinity }), [1, 11, 21])
    assert.deepEqual(await first({ limit: 2 }), [1, 11])
    assert.deepEqual(await first({ after: ['a', 1] }), [2, 11, 21])
    assert.deepEqual(await first({ after: ['a'], to: 'b' }), [11])
    assert.deepEqual(await first({ where: [{ column: 'n', not: [1, 11, 12] }] }), [2, 13, 21])
    assert.deepEqual(await first({ equal: ['t'] }), [])
  })
}
