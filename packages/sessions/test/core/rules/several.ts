import assert from 'node:assert/strict'
import { appendEvents, ensure, fence, insertRun, mark, patchRun, room, startMs } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

const writers = 16

/** Tests of several stores on the same data, as in several processes. */
export const several: Topic = ({ it, place }) => {
  const { second } = place
  if (!second) return
  const pair = (name: string, test: (one: Bench, two: Bench) => Promise<void>): void =>
    it(name, async (bench, stores) => test(bench, await stores.open(await second(bench.store), { owner: 'owner-b', clock: bench.clock })))
  const both = <T>(one: Bench, two: Bench, work: (bench: Bench, index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: writers }, (_, index) => work(index % 2 === 0 ? one : two, index)))

  pair('S196: what one store has acknowledged another one reads', async (one, two) => {
    await one.running('run-1')
    await one.commit([appendEvents(mark('a')), patchRun('run-1', { step: 3 })])
    assert.deepEqual(await two.everything(), await one.everything())
  })

  pair('S3: two stores that create one session at once create one', async (one, two) => {
    const made = await both(one, two, (bench, index) =>
      bench.commit([ensure(room, { id: `session-${index}` }), appendEvents(mark(String(index)))]),
    )
    assert.equal(new Set(made.map(({ sessionId }) => sessionId)).size, 1)
    assert.deepEqual(
      made.map(({ firstSeq }) => firstSeq).sort((a, b) => a - b),
      Array.from({ length: writers }, (_, index) => index + 1),
    )
  })

  pair('S38: commits of two stores at once get numbers without gaps, and each its own version', async (one, two) => {
    await one.commit([ensure()])
    const made = await both(one, two, (bench, index) => bench.commit([appendEvents(mark(`${index}a`), mark(`${index}b`))]))
    assert.equal(new Set(made.map(({ version }) => version)).size, writers)
    const { events } = await two.store.readEvents(room, 0, 1000)
    assert.deepEqual(
      events.map(({ seq }) => seq),
      Array.from({ length: 2 * writers }, (_, index) => index + 1),
    )
  })

  pair('S15: one input that is sent by two stores at once becomes one run', async (one, two) => {
    const made = await both(one, two, (bench, index) =>
      bench.commit([ensure(), insertRun(`run-${index}`, { inputId: 'input', inputHash: 'same' })]),
    )
    const { items } = await one.store.listRuns(room)
    assert.equal(items.length, 1)
    assert.deepEqual(new Set(made.flatMap(({ existing }) => existing?.runId ?? [])), new Set([items[0]?.id]))
  })

  pair('S58: a lease that is renewed while its run commits is renewed', async (one, two) => {
    const held = await one.running('run-1')
    for (let round = 1; round <= writers; round++) {
      await one.clock.advance(100)
      const commits = Array.from({ length: 4 }, (_, step) => one.commit([patchRun('run-1', { step })], { expect: [fence(held)] }))
      await Promise.all([...commits, two.store.renew([{ runId: 'run-1', epoch: 1 }], 10_000)])
      assert.equal((await two.run('run-1')).leaseUntil, startMs + 100 * round + 10_000)
    }
  })

  pair('S105: commits that meet a deletion bring nothing back', async (one, two) => {
    await one.commit([ensure(room, { id: 'first' })])
    const expect = [{ that: 'session', id: 'first' }] as const
    const writes = Array.from({ length: writers }, (_, index) => two.try([appendEvents(mark(String(index)))], { expect }))
    const [deleted, ...others] = await Promise.all([one.try([{ op: 'session.delete', at: startMs }], { expect }), ...writes])
    assert.equal(deleted.ok, true)
    assert.ok(others.every((result) => result.ok || result.reason === 'deleted'))
    assert.equal((await two.store.readSession(room)).status, 'deleted')
  })
}
