import assert from 'node:assert/strict'
import type { ChildQuery, RunParent } from '@bowline/sessions'
import { deleteSession, ensure, insertRun, other, parentOf, patchRun, room, startMs } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'
import { readAll } from './read-all.ts'

/** Creates a child session of the room, with its run. */
async function launch(bench: Bench, id: string, runId: string, fields: { at?: number; parent?: Partial<RunParent> } = {}): Promise<void> {
  const { at = startMs, parent } = fields
  const key = `${room}~researcher~${id}`
  await bench.commit([ensure(key, { parent: room }), insertRun(id, { kind: 'child', parent: parentOf(runId, parent), at })], { key })
}

async function idsOf(bench: Bench, query: ChildQuery): Promise<readonly string[]> {
  return (await bench.store.listChildren(query)).items.map((run) => run.id)
}

/** Tests that child runs are found by their parent. */
export const children: Topic = ({ it }) => {
  it('S128: a child keeps all that it says of its parent', async (bench, stores) => {
    const parent = parentOf('run-1', { taskId: 'bg_1', description: 'looks it up', path: ['a', 'researcher'], root: 'room:root' })
    await launch(bench, 'child-1', 'run-1', { parent })
    const again = await stores.reopen(bench)
    assert.deepEqual((await again.run('child-1')).parent, parent)
    assert.deepEqual((await again.store.listChildren({ parent: { runId: 'run-1' } })).items, [await again.run('child-1')])
  })

  it('S142: children of a run and of a session are listed in the order of their creation, and no others', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1'), insertRun('run-2')])
    await launch(bench, 'child-c', 'run-1', { at: 30 })
    await launch(bench, 'child-b', 'run-2', { at: 20 })
    await launch(bench, 'child-a', 'run-1', { at: 20 })
    await launch(bench, 'child-d', 'run-1', { at: 10 })
    await launch(bench, 'elsewhere', 'run-3', { parent: { session: other } })
    await launch(bench, 'grandchild', 'child-a', { parent: { session: `${room}~researcher~child-a` } })
    assert.deepEqual(await idsOf(bench, { parent: { runId: 'run-1' } }), ['child-d', 'child-a', 'child-c'])
    assert.deepEqual(await idsOf(bench, { parent: { session: room } }), ['child-d', 'child-a', 'child-b', 'child-c'])
    assert.deepEqual(await idsOf(bench, { parent: { session: other } }), ['elsewhere'])
    assert.deepEqual(await idsOf(bench, { parent: { runId: 'child-a' } }), ['grandchild'])
    for (const parent of [{ runId: 'unknown' }, { session: 'room:unknown' }, { runId: room }, { session: 'run-1' }]) {
      assert.deepEqual(await bench.store.listChildren({ parent }), { items: [] })
    }
  })

  it('S142: children are found by their status', async (bench) => {
    for (const id of ['child-1', 'child-2', 'child-3']) await launch(bench, id, 'run-1')
    await bench.claim({ runId: 'child-2' })
    await bench.commit([patchRun('child-3', { status: 'aborted' })], { key: `${room}~researcher~child-3` })
    const parent = { session: room }
    assert.deepEqual(await idsOf(bench, { parent, status: ['running'] }), ['child-2'])
    assert.deepEqual(await idsOf(bench, { parent, status: ['queued', 'aborted'] }), ['child-1', 'child-3'])
    assert.deepEqual(await idsOf(bench, { parent: { runId: 'run-1' }, status: ['completed'] }), [])
    assert.deepEqual(await idsOf(bench, { parent, status: [] }), [])
  })

  it('S47: children in pages come once each while others are launched, end and go', async (bench) => {
    const ids = Array.from({ length: 12 }, (_, index) => `child-${index + 10}`)
    // Creates several of them in the same millisecond.
    for (const [index, id] of ids.entries()) await launch(bench, id, 'run-1', { at: startMs + Math.floor(index / 4) })
    for (const parent of [{ runId: 'run-1' }, { session: room }]) {
      let given = 0
      const query = { parent, status: ['queued', 'aborted'] } as const
      const found = await readAll(
        (page) => bench.store.listChildren({ ...query, ...page }),
        5,
        async () => {
          given += 5
          await launch(bench, `late-${given}-${Object.keys(parent)[0] ?? ''}`, 'run-1', {
            at: startMs + 9,
            parent: { session: 'room:late' },
          })
          // The last run that was returned does not match the query any more.
          await bench.claim({ runId: ids[given - 1] ?? '' })
        },
      )
      assert.deepEqual(
        found.map((run) => run.id).filter((id) => ids.includes(id)),
        ids,
      )
      for (const id of ids) {
        const { status } = await bench.run(id)
        if (status === 'running') await bench.commit([patchRun(id, { status: 'queued' })], { key: `${room}~researcher~${id}` })
      }
    }
    await assert.rejects(bench.store.listChildren({ parent: { session: room }, page: 'made up' }), { code: 'invalid-cursor' })
  })

  it('S105: the children of a session that was deleted are found until they are deleted too', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    await launch(bench, 'child-1', 'run-1')
    await launch(bench, 'child-2', 'run-1')
    await bench.commit([deleteSession()])
    assert.deepEqual(await idsOf(bench, { parent: { session: room } }), ['child-1', 'child-2'])
    await bench.commit([deleteSession({ leavesNothing: true })], { key: `${room}~researcher~child-1` })
    assert.deepEqual(await idsOf(bench, { parent: { session: room } }), ['child-2'])
    assert.deepEqual(await idsOf(bench, { parent: { runId: 'run-1' } }), ['child-2'])
  })
}
