import assert from 'node:assert/strict'
import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import type { Change, Read, Row, RowStore, Write } from '@bowline/sessions/rows'
import { hasCode, hears, insert, keysOf, newNamespace, newRow, put, rowsOf, scan, session, update } from './kit.ts'
import type { RowTopic } from './kit.ts'

const writers = 16
const hourMs = 3_600_000
/** A clock that is wrong by an hour. */
const wrongClock: Clock = { ...systemClock, now: () => systemClock.now() + hourMs }

const all: readonly Read[] = [scan('session', 'key'), scan('session', 'list'), { get: 'session', ids: [['a']] }]

/** Expects to find nothing of another namespace, and to change nothing of it. */
async function leaveOthersAlone(rows: RowStore): Promise<void> {
  for (const read of all) assert.deepEqual(await rowsOf(rows, read), [])
  assert.deepEqual(await rows.write([{ writes: [{ dropAll: scan('session', 'key') }, { drop: 'session', id: ['a'] }] }]), [true])
  assert.deepEqual(await rows.write([{ writes: [update(['a'], {})] }]), [false])
}

const everything = (rows: RowStore) => rowsOf(rows, scan('session', 'key'))

const told = (key: string): Change => ({ writes: [{ put: 'session', row: session(key) }], hints: [{ key, wake: true }] })

/** Adds 1 to the revision of a row, as long as another writer comes first. */
async function increment(rows: RowStore, key: string): Promise<void> {
  for (;;) {
    const [found] = await rowsOf(rows, { get: 'session', ids: [[key]] })
    const revision = Number(found?.['revision'])
    const writes = [update([key], { revision: revision + 1 }, { revision }), insert(`${key}-${revision + 1}`)]
    if ((await rows.write([{ writes }]))[0]) return
  }
}

/** Writes the same number into rows of three tables, many times. */
async function writeTogether(rows: RowStore, isOver: () => boolean): Promise<void> {
  for (let n = 1; !isOver(); n++) {
    const event = { put: 'event', row: newRow({ session: 's', seq: 1 }, n) } as const
    const entry = { put: 'entry', row: newRow({ session: 's', id: 'e', n, parentId: null }) } as const
    assert.deepEqual(await rows.write([{ writes: [{ put: 'session', row: session('s', { revision: n }) }, event, entry] }]), [true])
  }
}

const together: readonly Read[] = [
  { get: 'session', ids: [['s']] },
  scan('event', 'seq', { equal: ['s'] }),
  { walk: 'entry', from: ['s', 'e'], by: 'parentId', limit: 1 },
]

/** Reads these rows while they are written. */
async function readTogether(rows: RowStore, writer: RowStore): Promise<void> {
  let isOver = false
  const writing = writeTogether(writer, () => isOver)
  try {
    for (let round = 0; round < 50; round++) {
      const [first, second, third] = (await rows.read(together)).rows.map(([found]) => found)
      const numbers = [first?.['revision'], second?.body, third?.['n']]
      assert.equal(new Set(numbers).size, 1, `a read of one moment found ${JSON.stringify(numbers)}`)
    }
  } finally {
    isOver = true
    await writing
  }
}

/** Tests of one store: its time, its hints, and its end. */
export const stores: RowTopic = ({ it, options }) => {
  it('S196: a read shows one moment, also while others write', (rows) => readTogether(rows, rows))

  it('S67: each answer has the time, of the server or of the clock that opened the store', async (_rows, stores) => {
    const rows = await stores.open(await options.create(), { clock: wrongClock })
    const times = [(await rows.read([])).now, (await rows.read([scan('session', 'key')])).now]
    for (const now of times) {
      assert.ok(Number.isSafeInteger(now), `the time is ${now}`)
      const from = systemClock.now()
      const isTime = [from, from + hourMs].some((at) => Math.abs(now - at) < 60_000)
      assert.ok(isTime, `${new Date(now).toISOString()} is neither the time of a server nor that of the clock`)
    }
    assert.ok((times[1] ?? 0) >= (times[0] ?? 0))
  })

  it('S48: the hints of a change are told once it is stored, to each listener, until it is disposed of', async (rows) => {
    const heard: unknown[] = []
    const stop = rows.subscribe((hint) => heard.push(hint.key))
    const [one, two] = [hears(rows, 'b'), hears(rows, 'b')]
    const stored = hears(rows, 'a').told.then(() => keysOf(rows))
    await rows.write([told('a'), told('b')])
    assert.deepEqual([await one.told, await two.told], [
      { key: 'b', wake: true },
      { key: 'b', wake: true },
    ]) // oxfmt-ignore
    assert.ok((await stored).includes('a'), 'the hint was told before its change was stored')
    assert.deepEqual(heard, ['a', 'b'])
    stop()
    stop()
    const last = hears(rows, 'c')
    await rows.write([told('c')])
    await last.told
    assert.deepEqual(heard, ['a', 'b'])
  })

  it('S48: the hints of a change that is not stored are not told', async (rows) => {
    const { heard, told: last } = hears(rows, 'last')
    const refused: Change = { writes: [update(['missing'], {})], hints: [{ key: 'refused', wake: true }] }
    assert.deepEqual(await rows.write([refused, told('a'), refused]), [false, true, false])
    await rows.write([told('last')])
    await last
    assert.deepEqual(heard.map(({ key }) => key), ['a', 'last']) // oxfmt-ignore
  })

  it('S11: a closed store refuses calls with store-unavailable', async (rows) => {
    await rows.write([put('session', session('a'))])
    await rows.close()
    await assert.rejects(rows.read([]), hasCode('store-unavailable'))
    await assert.rejects(rows.write([put('session', session('b'))]), hasCode('store-unavailable'))
    await rows.close()
  })

  const { cut } = options
  if (!cut) return
  it('S195: a change whose answer is lost is stored completely or not at all, and reported as uncertain', async (_rows, stores) => {
    const change: Change = { writes: [update(['a'], { revision: 2 }, { revision: 1 }), insert('b'), insert('c')] }
    for (let moment = 1, isReached = true; isReached; moment++) {
      assert.ok(moment < 200, 'the connection breaks 200 times in one write')
      const namespace = newNamespace()
      const rows = await stores.open(await options.create(), { namespace })
      const calm = options.second ? await stores.second(rows, { namespace }) : rows
      await calm.write([put('session', session('a', { revision: 1 }))])
      const mend = await cut(rows, moment)
      const outcome: unknown = await rows.write([change]).then(
        ([isStored]) => isStored,
        (error: unknown) => error,
      )
      isReached = await mend()
      assert.ok(outcome === true || (isReached && hasCode('store-unavailable')(outcome)), `moment ${moment}: ${String(outcome)}`)
      const found = (await everything(calm)).map(({ key, revision }) => [key, revision])
      const whole = [['a', 2], ['b', undefined], ['c', undefined]] // oxfmt-ignore
      assert.deepEqual(found, outcome === true || found.length > 1 ? whole : [['a', 1]], `moment ${moment}`)
    }
  })
}

/** Tests of two stores on the same rows, as in two processes. */
export const several: RowTopic = ({ it }) => {
  it('S196: what one store has acknowledged the other one reads, also if it has read before', async (rows, stores) => {
    const other = await stores.second(rows)
    for (let revision = 1; revision <= 4; revision++) {
      const [from, to] = revision <= 2 ? [rows, other] : [other, rows]
      await from.write([put('session', session('a', { revision, section: revision, activeAt: 1 }, { revision }))])
      for (const read of all)
        assert.deepEqual(
          (await rowsOf(to, read)).map((found) => found['revision']),
          [revision],
        )
    }
  })

  it('S6: a row is seen in its own namespace only', async (rows, stores) => {
    const elsewhere = await stores.second(rows, { namespace: newNamespace() })
    await rows.write([put('session', session('a', { section: 1, activeAt: 1 }))])
    await leaveOthersAlone(elsewhere)
    for (const read of all) assert.equal((await rowsOf(rows, read)).length, 1)
  })

  it('S41: of two stores that change one row at once under one condition one wins each time', async (rows, stores) => {
    const both = [rows, await stores.second(rows)]
    await rows.write([put('session', session('a', { revision: 0 }))])
    await Promise.all(Array.from({ length: writers }, (_, at) => increment(both[at % 2] ?? rows, 'a')))
    assert.deepEqual((await rowsOf(rows, { get: 'session', ids: [['a']] }))[0]?.['revision'], writers)
    assert.equal((await keysOf(rows)).length, 1 + writers)
  })

  it('S196: a read shows one moment, also while another store writes', async (rows, stores) => {
    await readTogether(rows, await stores.second(rows))
  })

  it('S57: all stores have one time, whatever their clocks say', async (rows, stores) => {
    const other = await stores.second(rows, { clock: wrongClock })
    const [one, two] = [(await rows.read([])).now, (await other.read([])).now]
    assert.ok(Math.abs(one - two) < 60_000, `${one} and ${two}`)
  })

  it('S48: hints reach the other stores on the same rows, and no other namespace', async (rows, stores) => {
    const other = await stores.second(rows)
    const elsewhere = await stores.second(rows, { namespace: newNamespace() })
    const [here, there] = [hears(rows, 'last'), hears(other, 'last')]
    await elsewhere.write([told('apart')])
    await rows.write([told('a')])
    await other.write([told('last')])
    await Promise.all([here.told, there.told])
    for (const { heard } of [here, there]) assert.ok(!heard.some(({ key }) => key === 'apart'))
  })
}

/** Bodies that differ in parts. A store that keeps their differences must not confuse the names. */
const bodies: readonly Row['body'][] = [
  { a: { b: 1, c: { d: 2 } }, e: [1, { f: 2 }] },
  { a: { b: 1, c: {} }, e: [1, { f: 3 }], 'a/b': 4 },
  { a: { b: 1, 'c/d': 5 }, 'a/b': { c: 6 } },
  JSON.parse('{"a":{"__proto__":{"b":7}},"constructor":8,"":9,"a/b":{"c":6}}') as Row['body'],
  { a: 1, '': { '': null } },
  [{ a: 1 }],
  null,
  { a: { b: { c: 10 } } },
]

/** Tests of a store whose rows outlive it. */
export const reopening: RowTopic = ({ it }) => {
  it('S34: everything that was acknowledged is there after reopening, in each index', async (rows, stores) => {
    const listed = ['a', 'b', 'c'].map((key, at) => session(key, { revision: at, section: 1, activeAt: at, agent: 'x' }, { of: key }))
    await rows.write([put('session', ...listed), put('entry', newRow({ session: 's', id: 'e', n: 1, parentId: null }))])
    await rows.write([{ writes: [update(['a'], { agent: null }), { drop: 'session', id: ['c'] }] }, { writes: [update(['x'], {})] }])
    const reads: readonly Read[] = [scan('session', 'key'), scan('session', 'list'), scan('session', 'agent'), scan('entry', 'id')]
    const before = await Promise.all(reads.map((read) => rowsOf(rows, read)))
    const again = await stores.reopen(rows)
    assert.deepEqual(await Promise.all(reads.map((read) => rowsOf(again, read))), before)
    assert.deepEqual(await again.write([{ writes: [update(['b'], { revision: 2 }, { revision: 1 })] }]), [true])
    const third = await stores.reopen(again)
    assert.equal((await rowsOf(third, { get: 'session', ids: [['b']] }))[0]?.['revision'], 2)
  })

  it('S34: bodies whose parts were changed, added and removed are there after reopening', async (rows, stores) => {
    await rows.write([put('session', session('a', {}, bodies[0] ?? null))])
    for (const body of bodies) assert.deepEqual(await rows.write([{ writes: [{ update: 'session', id: ['a'], set: { body } }] }]), [true])
    await rows.write([put('session', ...bodies.map((body, at) => session(`b-${at}`, {}, body)))])
    const after = bodies.toReversed().map((body, at): Write => ({ update: 'session', id: [`b-${at}`], set: { body } }))
    await rows.write([{ writes: after }])
    const again = await stores.reopen(rows)
    const found = (await everything(again)).map(({ body }) => JSON.stringify(body))
    assert.deepEqual(
      found,
      [bodies.at(-1), ...bodies.toReversed()].map((body) => JSON.stringify(body)),
    )
  })

  it('S6: a row is seen in its own namespace only, also after reopening', async (rows, stores) => {
    await rows.write([put('session', session('a', { section: 1, activeAt: 1 }))])
    const elsewhere = await stores.reopen(rows, { namespace: newNamespace() })
    await leaveOthersAlone(elsewhere)
    const again = await stores.reopen(elsewhere)
    for (const read of all) assert.equal((await rowsOf(again, read)).length, 1)
  })

  it('S34: a change under way when the store closes is stored if it is acknowledged', async (rows, stores) => {
    const writing = Array.from({ length: writers }, (_, n) =>
      rows.write([put('session', session(`key-${n}`))]).catch((error: unknown) => error),
    )
    const again = await stores.reopen(rows)
    const keys = new Set(await keysOf(again))
    for (const [n, outcome] of (await Promise.all(writing)).entries()) {
      if (outcome instanceof Error) assert.ok(hasCode('store-unavailable')(outcome), String(outcome))
      else assert.ok(keys.has(`key-${n}`), `key-${n} was acknowledged`)
    }
  })
}
