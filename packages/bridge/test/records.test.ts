import { hostname } from 'node:os'
import { manualClock } from '@bowline/llm/testing'
import { memoryStateStore, type StateStore } from '@bowline/sessions'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Processes } from '../src/records/processes.ts'
import { mapKey, RecordTable } from '../src/records/record-table.ts'

interface Counted {
  readonly count: number
}

const lifeMs = 1000
const ann = { owner: 'ann', id: 'r1' }

/** Two tables over one store. Records expire after a second once their count is three, else never. */
function tables(change: (store: StateStore) => Partial<StateStore> = () => ({})) {
  const clock = manualClock(1000)
  const memory = memoryStateStore({ clock })
  const store: StateStore = { ...memory, ...change(memory) }
  const lifeOf = ({ count }: Counted): number | 'never' => (count >= 3 ? lifeMs : 'never')
  const make = (space = 'counts') => new RecordTable<Counted>(store, space, lifeOf)
  return { clock, store, table: make(), other: make(), elsewhere: make('others') }
}

const plusOne = ({ count }: Counted): Counted => ({ count: count + 1 })

describe('the records of bridges on one store', () => {
  it('B98: a record is created once, for its owner and in its space', async () => {
    const { table, other, elsewhere } = tables()
    expect(await table.read(ann)).toBeUndefined()
    const inserted = await table.insert(ann, { count: 1 })
    expect(inserted?.value).toEqual({ count: 1 })
    expect(await other.insert(ann, { count: 5 })).toBeUndefined()
    expect(await other.read(ann)).toEqual(inserted)
    for (const missing of [other.read({ ...ann, owner: 'bob' }), other.read({ ...ann, id: 'r2' }), elsewhere.read(ann)])
      expect(await missing).toBeUndefined()
    await table.remove(ann)
    expect(await other.read(ann)).toBeUndefined()
    await table.remove(ann)
  })

  it('B98: owners with names like record keys of other owners have records of their own', async () => {
    const { table } = tables()
    await table.insert({ owner: 'a', id: 'b/c' }, { count: 1 })
    expect(await table.read({ owner: 'a/b', id: 'c' })).toBeUndefined()
    expect(mapKey({ owner: 'a', id: 'b' })).not.toBe(mapKey({ owner: 'a"', id: 'b' }))
    expect(mapKey({ owner: 'a', id: 'b' })).not.toBe(mapKey({ owner: 'b', id: 'a' }))
  })

  it('B98: a change is applied to the newest value, whatever the caller has read', async () => {
    const { table, other } = tables()
    const known = await table.insert(ann, { count: 0 })
    expect(await other.change(ann, undefined, plusOne)).toMatchObject({ changed: true, stored: { value: { count: 1 } } })
    const seen: number[] = []
    const changed = await table.change(ann, known, (value) => (seen.push(value.count), plusOne(value)))
    expect(changed).toMatchObject({ changed: true, stored: { value: { count: 2 } } })
    expect(seen).toEqual([0, 1])
    expect(await other.read(ann)).toEqual(changed?.stored)
    expect(await table.change(ann, changed?.stored, plusOne)).toMatchObject({ stored: { value: { count: 3 } } })
  })

  it('B98: a known value needs no read', async () => {
    let reads = 0
    const { table } = tables((store) => ({ get: (...given) => (reads++, store.get(...given)) }))
    const known = await table.insert(ann, { count: 0 })
    await table.change(ann, known, plusOne)
    expect(reads).toBe(0)
  })

  it('B98: a change that returns nothing leaves the record, and so does one that throws', async () => {
    const { table } = tables()
    const inserted = await table.insert(ann, { count: 1 })
    expect(await table.change(ann, undefined, () => undefined)).toEqual({ changed: false, stored: inserted })
    await expect(
      table.change(ann, undefined, () => {
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    expect(await table.read(ann)).toEqual(inserted)
  })

  it('B98: a record that is gone, or is removed meanwhile, is not created again', async () => {
    const { table, other } = tables()
    expect(await table.change(ann, undefined, plusOne)).toBeUndefined()
    const known = await table.insert(ann, { count: 1 })
    await other.remove(ann)
    expect(await table.change(ann, known, plusOne)).toBeUndefined()
    expect(await table.read(ann)).toBeUndefined()
  })

  it('B69, B97: the value of a record decides its lifetime', async () => {
    const { clock, table } = tables()
    await table.insert(ann, { count: 1 })
    await table.insert({ ...ann, id: 'r2' }, { count: 3 })
    await clock.advance(999)
    await table.change(ann, undefined, () => ({ count: 3 }))
    expect((await table.read({ ...ann, id: 'r2' }))?.value).toEqual({ count: 3 })
    await clock.advance(1)
    expect(await table.read({ ...ann, id: 'r2' })).toBeUndefined()
    await clock.advance(998)
    expect((await table.read(ann))?.value).toEqual({ count: 3 })
    await clock.advance(1)
    expect(await table.read(ann)).toBeUndefined()
  })

  it('B24: lists all records of an owner, a page at a time, and none of another owner', async () => {
    const limits: unknown[] = []
    const { table } = tables((store) => ({ list: (space, query) => (limits.push(query.limit), store.list(space, query)) }))
    for (let index = 0; index < 450; index++) await table.insert({ owner: 'ann', id: `r${index}` }, { count: index })
    for (const owner of ['annie', 'an', 'ann/r', 'bob']) await table.insert({ owner, id: 'r1' }, { count: -1 })
    const listed: number[] = []
    for await (const { count } of table.list('ann')) listed.push(count)
    expect(listed.sort((a, b) => a - b)).toEqual(Array.from({ length: 450 }, (_, index) => index))
    expect(limits).toEqual([200, 200, 200])
    for await (const { count } of table.list('ann/r')) expect(count).toBe(-1)
  })
})

describe('the bridges on one store', () => {
  function world() {
    const clock = manualClock(1000)
    const store = memoryStateStore({ clock })
    const faults: unknown[] = []
    const make = (over: { readonly isShared?: boolean; readonly store?: StateStore } = {}) =>
      new Processes({ store, clock, isShared: true, onError: (error) => void faults.push(error), ...over })
    const written = async () => (await store.list('bridge-process', {})).items
    return { clock, store, faults, make, written }
  }

  it('B99: a bridge counts as live from its start to its stop, for itself and for others', async () => {
    const { clock, make, written } = world()
    const [one, other] = [make(), make()]
    const alive = async () => [await one.isAlive(one.id), await other.isAlive(one.id), await one.isAlive(other.id)]
    expect(await alive()).toEqual([false, false, false])
    await one.start()
    expect(await alive()).toEqual([true, true, false])
    expect(await written()).toMatchObject([{ id: one.id, value: { host: hostname(), pid: process.pid } }])
    await clock.advance(3_600_000)
    expect(await alive()).toEqual([true, true, false])
    await one.stop()
    expect([await alive(), await written(), clock.pendingTimers]).toEqual([[false, false, false], [], 0])
    await one.stop()
    await clock.advance(60_000)
    expect(await written()).toEqual([])
  })

  it('B99: a bridge that did not start, has stopped or is alone removes nothing', async () => {
    const { store, make } = world()
    const removed: string[] = []
    const watched = { ...store, delete: (space: string, id: string) => (removed.push(id), store.delete(space, id)) }
    const [one, alone] = [make({ store: watched }), make({ store: watched, isShared: false })]
    await one.stop()
    for (const each of [one, alone]) await each.start()
    expect(removed).toEqual([])
    for (const each of [one, alone, one]) await each.stop()
    expect(removed).toEqual([one.id])
  })

  it('B99: a start or a stop fails if the store accepts nothing, and a record that it refuses later is reported', async () => {
    const { clock, store, faults, make, written } = world()
    const [away, gone] = [() => Promise.reject(new Error('away')), () => Promise.resolve(false)]
    const unwritten = make({ store: { ...store, compareAndSet: away } })
    await expect(unwritten.start()).rejects.toThrow('away')
    expect([await unwritten.isAlive(unwritten.id), clock.pendingTimers]).toEqual([false, 0])
    const kept = make({ store: { ...store, delete: away } })
    await kept.start()
    await expect(kept.stop()).rejects.toThrow('away')
    expect(await written()).toHaveLength(1)
    let isAway = false
    const forgotten = make({
      store: { ...store, touch: gone, compareAndSet: (...given) => (isAway ? away() : store.compareAndSet(...given)) },
    })
    await forgotten.start()
    isAway = true
    await clock.advance(10_000)
    expect(faults).toMatchObject([{ message: 'away' }])
    await forgotten.stop()
  })

  it('B99: a bridge whose process belongs to another user counts as live', async () => {
    const { store, make } = world()
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('not permitted'), { code: 'EPERM' })
    })
    onTestFinished(() => kill.mockRestore())
    await store.compareAndSet('bridge-process', 'theirs', null, { host: hostname(), pid: 2 ** 22 + 1 }, { ttlMs: 'never' })
    expect(await make().isAlive('theirs')).toBe(true)
  })

  it('B99: a bridge without a sign of life is dead after thirty seconds', async () => {
    const { clock, store, make } = world()
    const [one, other] = [make({ store: { ...store, touch: () => Promise.reject(new Error('away')) } }), make()]
    await one.start()
    await clock.advance(29_999)
    expect(await other.isAlive(one.id)).toBe(true)
    await clock.advance(1)
    expect(await other.isAlive(one.id)).toBe(false)
  })

  it('B99: a bridge renews its record every ten seconds, and goes on when the store fails', async () => {
    const { clock, store, faults, make } = world()
    let touches = 0
    const one = make({
      store: {
        ...store,
        touch: (...given) => {
          if (++touches === 2) return Promise.reject(new Error('away'))
          return store.touch(...given)
        },
      },
    })
    await one.start()
    await clock.advance(9_999)
    expect(touches).toBe(0)
    await clock.advance(1)
    expect([touches, faults]).toEqual([1, []])
    await clock.advance(20_000)
    expect([touches, faults]).toMatchObject([3, [{ message: 'away' }]])
    await one.stop()
  })

  it('B99: a bridge that stops while it renews its record leaves nothing', async () => {
    const { clock, store, make, written } = world()
    const touched = Promise.withResolvers<boolean>()
    const one = make({ store: { ...store, touch: () => touched.promise } })
    await one.start()
    await clock.advance(10_000)
    await one.stop()
    touched.resolve(false)
    await clock.advance(0)
    expect([await written(), clock.pendingTimers]).toEqual([[], 0])
  })

  it('B99: a bridge with a store of its own writes no record', async () => {
    const { clock, make, written } = world()
    const alone = make({ isShared: false })
    expect([alone.isShared, make().isShared]).toEqual([false, true])
    await alone.start()
    expect([await alone.isAlive(alone.id), await written(), clock.pendingTimers]).toEqual([true, [], 0])
    await alone.stop()
    expect(await alone.isAlive(alone.id)).toBe(false)
  })

  it('B99: a bridge whose process is gone from this machine is dead at once, one of another machine is not checked', async () => {
    const { store, make } = world()
    const gone = 2 ** 22 + 1
    const places = [
      [{ host: hostname(), pid: gone }, false],
      [{ host: hostname(), pid: process.ppid }, true],
      [{ host: `not-${hostname()}`, pid: gone }, true],
      [{ host: hostname(), pid: process.pid }, true],
    ] as const
    for (const [index, [place, lives]] of places.entries()) {
      await store.compareAndSet('bridge-process', `p${index}`, null, place, { ttlMs: 'never' })
      expect(await make().isAlive(`p${index}`)).toBe(lives)
    }
  })
})
