import assert from 'node:assert/strict'
import { appendEvents, ensure, insertRun, mark, room } from './bench.ts'
import type { Topic } from './kit.ts'

const oddKeys = ['a', 'A', 'a:b', 'a.b', 'a_b', 'a-b', 'a@b', 'a/b', 'a+b', 'a=b', 'a%b', 'default:a', 'a~b~c', 'k'.repeat(256)]

/** Tests that keys and namespaces separate sessions. */
export const keys: Topic = ({ it, place }) => {
  it('S7: keys that differ in case, odd characters or the last of 256 bytes never collide', async (bench) => {
    const all = [...oddKeys, `${'k'.repeat(255)}l`, `${'k'.repeat(255)}K`]
    for (const key of all) await bench.commit([ensure(key), appendEvents(mark(key)), insertRun(`run of ${key}`)], { key })
    for (const key of all) {
      assert.equal((await bench.session(key)).id, `session-of-${key}`)
      const { events } = await bench.store.readEvents(key, 0, 10)
      assert.deepEqual(
        events.map((event) => 'sessionKey' in event && event.sessionKey),
        [key],
      )
      assert.equal((await bench.run(`run of ${key}`)).session, key)
    }
    const listed = (await bench.store.listSessions({ limit: 1000 })).items.map((session) => session.key)
    assert.deepEqual([...listed].sort(), [...all].sort())
  })

  it('S6: after reopening under another namespace nothing is there', async (bench, stores) => {
    await bench.commit([ensure(), insertRun('run-1')])
    const other = await stores.reopen(bench, { namespace: 'other' })
    assert.deepEqual(await other.store.readSession(room), { status: 'missing' })
    assert.deepEqual(await other.store.readRun('run-1'), { status: 'missing' })
    assert.deepEqual((await other.store.listSessions({})).items, [])
    assert.deepEqual(await other.claim(), [])
    await other.commit([ensure(), insertRun('run-1', { inputHash: 'of the other' })])
    const back = await stores.reopen(other)
    assert.equal((await back.run('run-1')).inputHash, 'hash of run-1')
  })

  const { second } = place
  if (!second) return
  it('S6: two namespaces on one store at a time never see, claim or renew each other’s runs', async (bench, stores) => {
    const other = await stores.open(await second(bench.store), { namespace: 'other', clock: bench.clock })
    const claim = await bench.running('run-1')
    assert.deepEqual(await other.store.readRun('run-1'), { status: 'missing' })
    assert.deepEqual(await other.claim({ owner: 'owner-b' }), [])
    const lease = { runId: 'run-1', epoch: claim.run.epoch }
    assert.deepEqual(await other.store.renew([lease], 1000), [{ runId: 'run-1', held: false }])
    await other.commit([ensure(), insertRun('run-1')])
    await bench.clock.advance(20_000)
    assert.equal((await other.claim({ owner: 'owner-b' }))[0]?.previous, 'queued')
  })
}
