import assert from 'node:assert/strict'
import type { Change, Row, RowStore, Write } from '@bowline/sessions/rows'
import { hasCode, insert, keysOf, known, newRow, put, rowsOf, scan, session, update } from './kit.ts'
import type { RowTopic } from './kit.ts'

/** Returns all rows. They must be the same by their index and by their ids. */
async function everything(rows: RowStore): Promise<readonly Record<string, unknown>[]> {
  const found = await rowsOf(rows, scan('session', 'key'))
  const ids = ['a', 'b', 'c', 'd'].map((key) => [key])
  const byIds = await Promise.all(ids.map((id) => rowsOf(rows, { get: 'session', ids: [id] })))
  assert.deepEqual(byIds.flat(), found)
  return found
}

/** A change of every kind of write. Only its last condition may fail. */
const changeWith = (last: Write): Change => ({
  writes: [
    update(['a'], { revision: 2 }, { revision: 1 }),
    { put: 'session', row: session('b') },
    insert('c'),
    { drop: 'session', id: ['a'] },
    { insert: 'session', row: session('a', { revision: 3 }, 'new') },
    last,
  ],
})

const refused: readonly Write[] = [
  update(['a'], { revision: 9 }, { revision: 4 }),
  update(['a'], { revision: 9 }, { agent: 'x' }),
  update(['a'], {}, { revision: 4 }),
  update(['missing'], { revision: 9 }),
  update(['missing'], {}),
  insert('a'),
  { drop: 'session', id: ['a'], if: { revision: 4 } },
  { drop: 'session', id: ['missing'], if: {} },
]

/** Tests of changes: their conditions, their order, and that each is stored completely or not at all. */
export const changes: RowTopic = ({ it }) => {
  it('S34: a change is stored completely or not at all, also if its last condition fails', async (rows) => {
    assert.deepEqual(await rows.write([put('session', session('a', { revision: 1 }, 'old'))]), [true])
    for (const last of refused) {
      assert.deepEqual(await rows.write([changeWith(last)]), [false], JSON.stringify(last))
      assert.deepEqual(await everything(rows), [{ key: 'a', revision: 1, body: 'old' }], JSON.stringify(last))
    }
    assert.deepEqual(await rows.write([changeWith(update(['a'], {}, { revision: 3, agent: null }))]), [true])
    assert.deepEqual(await everything(rows), [
      { key: 'a', revision: 3, body: 'new' },
      { key: 'b', body: {} },
      { key: 'c', body: {} },
    ])
  })

  it('S34: a change whose conditions hold is stored, also after one that failed at a later write', async (rows) => {
    await rows.write([put('session', session('a', { revision: 1 }))])
    const holding: readonly Write[] = [{ drop: 'session', id: ['a'], if: { revision: 1 } }, update(['a'], {}, { revision: 1, agent: null })]
    for (const holds of holding) {
      const changes = [{ writes: [holds, update(['missing'], {})] }, { writes: [update(['a'], {})] }]
      assert.deepEqual(await rows.write(changes), [false, true])
    }
    const inserts: readonly Write[] = [insert('b'), { drop: 'session', id: ['c'] }]
    assert.deepEqual(await rows.write([{ writes: [update(['missing'], {}), ...inserts] }, { writes: inserts }]), [false, true])
  })

  it('S34: changes of a call are stored in their order, each apart from the others', async (rows) => {
    const next = (revision: number): Change => ({ writes: [update(['a'], { revision: revision + 1 }, { revision })] })
    const first: Change = { writes: [insert('a', { revision: 0 })] }
    const changes = [next(0), first, first, next(0), next(0), next(1), { ...next(2), provisional: true }]
    assert.deepEqual(await rows.write(changes), [false, true, false, true, false, true, true])
    assert.deepEqual(await everything(rows), [{ key: 'a', revision: 3, body: {} }])
    assert.deepEqual(await rows.write([]), [])
    assert.deepEqual(await rows.write([{ writes: [] }]), [true])
  })

  it('S34: writes of a change are executed in their order', async (rows) => {
    const writes: readonly Write[] = [
      insert('a'),
      { dropAll: scan('session', 'key') },
      insert('a', { revision: 1 }),
      update(['a'], { revision: 2 }, { revision: 1 }),
      { put: 'session', row: session('a', { revision: 3 }) },
      update(['a'], { agent: 'x' }, { revision: 3 }),
      { drop: 'session', id: ['b'] },
      insert('b'),
    ]
    assert.deepEqual(await rows.write([{ writes }]), [true])
    assert.deepEqual(await everything(rows), [
      { key: 'a', revision: 3, agent: 'x', body: {} },
      { key: 'b', body: {} },
    ])
    assert.deepEqual(await rows.write([{ writes: [update(['a'], {}, { agent: null })] }]), [false])
    assert.deepEqual(await rows.write([{ writes: [{ drop: 'session', id: ['a'] }] }]), [true])
    assert.deepEqual(await everything(rows), [{ key: 'b', body: {} }])
    assert.deepEqual(await rows.write([{ writes: [{ dropAll: scan('session', 'key') }] }]), [true])
    assert.deepEqual(await everything(rows), [])
  })

  it('S34: of many changes with the same condition one is stored', async (rows) => {
    await rows.write([put('session', session('a', { revision: 1 }))])
    const attempts = Array.from({ length: 30 }, (_, n) =>
      rows.write([{ writes: [{ put: 'session', row: session(`attempt-${n}`) }, update(['a'], { revision: 2 }, { revision: 1 })] }]),
    )
    assert.equal((await Promise.all(attempts)).flat().filter(Boolean).length, 1)
    assert.equal((await keysOf(rows)).length, 2)
    const inserts = Array.from({ length: 30 }, (_, n) => rows.write([{ writes: [insert('b', { revision: n })] }]))
    assert.equal((await Promise.all(inserts)).flat().filter(Boolean).length, 1)
  })

  it('S34: a change that was acknowledged is in the next read', async (rows) => {
    for (let revision = 1; revision <= 20; revision++) {
      assert.deepEqual(await rows.write([put('session', session('a', { revision }))]), [true])
      assert.deepEqual(await everything(rows), [{ key: 'a', revision, body: {} }])
    }
  })

  it('S34: an update replaces the given values only, a put the whole row', async (rows) => {
    await rows.write([put('session', session('a', { revision: 1, agent: 'x', status: 'y' }, { is: 'kept' }))])
    await rows.write([{ writes: [update(['a'], { revision: 2, agent: null })] }])
    assert.deepEqual(await everything(rows), [{ key: 'a', revision: 2, status: 'y', body: { is: 'kept' } }])
    await rows.write([{ writes: [{ update: 'session', id: ['a'], set: { body: null } }] }])
    assert.deepEqual(await everything(rows), [{ key: 'a', revision: 2, status: 'y', body: null }])
    await rows.write([put('session', session('a', { tenant: 't' }))])
    assert.deepEqual(await everything(rows), [{ key: 'a', tenant: 't', body: {} }])
  })

  it('S34: a row is found by all parts of its id, and columns of other tables do not matter', async (rows) => {
    const entry = (of: string, id: string): Row => newRow({ session: of, id, n: 1, parentId: null }, [of, id])
    await rows.write([put('entry', entry('a', 'bc'), entry('ab', 'c'), entry('a', 'b'))])
    await rows.write([{ writes: [{ drop: 'entry', id: ['a', 'b'] }, insert('a')] }])
    assert.deepEqual((await rowsOf(rows, scan('entry', 'id'))).map(({ body }) => body), [['a', 'bc'], ['ab', 'c']]) // oxfmt-ignore
  })

  it('S36: a change that is marked for stores of many processes is stored like any other', async (rows) => {
    await rows.write([put('session', session('a', { revision: 1 }))])
    for (const mark of [{ isClaim: true }, { isBrief: true }, { replacesDeltas: ['a'] }, { provisional: true }] as const) {
      assert.deepEqual(await rows.write([{ ...mark, writes: [update(['a'], { agent: 'x' }, { revision: 2 })] }]), [false])
      assert.deepEqual(await rows.write([{ ...mark, writes: [update(['a'], { status: 'y' }, { revision: 1 })] }]), [true])
    }
    assert.deepEqual(await everything(rows), [{ key: 'a', revision: 1, status: 'y', body: {} }])
  })

  it('S44: rows that were given or returned stay as they are', async (rows) => {
    const given = frozen(session('a', { revision: 1, section: 1, activeAt: 1 }, { list: [1, { deep: true }] }))
    await rows.write([frozen(put('session', given))])
    const reads = [{ get: 'session', ids: [['a']] }, scan('session', 'list')] as const
    const before = (await rows.read(reads)).rows.flat()
    const text = JSON.stringify(before.map(known))
    await rows.write([{ writes: [update(['a'], { revision: 2, section: 2 })] }])
    await rows.write([{ writes: [{ update: 'session', id: ['a'], set: { body: { list: [] } } }] }])
    assert.equal(JSON.stringify(before.map(known)), text)
    assert.deepEqual(await everything(rows), [{ key: 'a', revision: 2, section: 2, activeAt: 1, body: { list: [] } }])
  })

  it('S49: a body beyond the limit is refused before anything is stored', async (rows) => {
    const { maxRowBytes } = rows.capabilities
    // A character of two bytes in UTF-8.
    const bodyOf = (bytes: number): string => `${'é'.repeat((bytes - 2) >> 1)}${'x'.repeat(bytes % 2)}`
    await rows.write([put('session', session('b', {}, 'old'))])
    const tooLong = bodyOf(Math.min(maxRowBytes, 2 ** 24) + 1)
    const refused: readonly Write[] = [
      { put: 'session', row: session('b', {}, tooLong) },
      { insert: 'session', row: session('c', {}, tooLong) },
      { update: 'session', id: ['b'], set: { body: tooLong } },
    ]
    for (const last of maxRowBytes < Number.MAX_SAFE_INTEGER ? refused : []) {
      const writing = rows.write([{ writes: [insert('a')] }, { writes: [insert('d'), last] }])
      await assert.rejects(writing, hasCode('entry-too-large'))
      assert.deepEqual(await everything(rows), [{ key: 'b', body: 'old' }])
    }
    const longest = Math.min(maxRowBytes, 2 ** 24)
    assert.deepEqual(await rows.write([put('session', session('b', {}, bodyOf(longest)))]), [true])
    assert.equal(Buffer.byteLength(JSON.stringify((await everything(rows))[0]?.['body'])), longest)
  })
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const each of Object.values(Object.freeze(value))) frozen(each)
  return value
}
