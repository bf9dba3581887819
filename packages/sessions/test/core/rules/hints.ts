import assert from 'node:assert/strict'
import type { StoreHint } from '@bowline/sessions'
import { appendEvents, deliver, ensure, insertRun, mark, other, room } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

/** Resolves with the first hint for this key. */
function hintOf({ store }: Bench, key: string): Promise<StoreHint> {
  return new Promise((resolve) => {
    const end = store.subscribe((hint) => {
      if (hint.key !== key) return
      end()
      resolve(hint)
    })
  })
}

/** Tests of hints about commits. */
export const hints: Topic = ({ it, place }) => {
  it('S48: a commit is told, and that there may be something to claim, also if it is repeated because its answer was lost', async (bench) => {
    const told = hintOf(bench, room)
    const begin = () => bench.commit([ensure(), insertRun('run-1'), appendEvents(mark('a'))], { id: 'repeated' })
    await begin()
    assert.deepEqual(await told, { key: room, wake: true })
    const toldAgain = hintOf(bench, room)
    await begin()
    assert.deepEqual(await toldAgain, { key: room, wake: true })
  })

  it('S48: what is delivered is told of its session', async (bench) => {
    await bench.commit([ensure(other)], { key: other })
    const told = [hintOf(bench, room), hintOf(bench, other)]
    await bench.commit([ensure()], { deliver: [deliver(other, [insertRun('run-1')])] })
    const [own, delivered] = await Promise.all(told)
    assert.deepEqual([own?.key, delivered], [room, { key: other, wake: true }])
  })

  it('S48: who has ended its subscription is told nothing more, and to end it twice is no fault', async (bench) => {
    const heard: unknown[] = []
    const end = bench.store.subscribe((hint) => heard.push(hint.key))
    end()
    end()
    const told = hintOf(bench, room)
    await bench.commit([ensure()])
    await told
    assert.deepEqual(heard, [])
  })

  it('S48: all subscribers are told, of every commit', async (bench) => {
    const keys = ['room:1', 'room:2', 'room:3']
    const told = keys.flatMap((key) => [hintOf(bench, key), hintOf(bench, key)])
    for (const key of keys) await bench.commit([ensure(key)], { key })
    assert.deepEqual(
      (await Promise.all(told)).map((hint) => hint.key),
      keys.flatMap((key) => [key, key]),
    )
  })

  const { second } = place
  if (!second) return
  it('S48: commits of another owner are told, those of another namespace are not', async (bench, stores) => {
    const same = await stores.open(await second(bench.store), { owner: 'owner-b', clock: bench.clock })
    const elsewhere = await stores.open(await second(bench.store), { owner: 'owner-c', namespace: 'other', clock: bench.clock })
    const heard: unknown[] = []
    const end = bench.store.subscribe((hint) => heard.push(hint.key))
    const told = hintOf(bench, room)
    await elsewhere.commit([ensure('room:elsewhere')], { key: 'room:elsewhere' })
    await same.commit([ensure()])
    await told
    end()
    assert.equal(heard.includes('room:elsewhere'), false)
  })
}
