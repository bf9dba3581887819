import assert from 'node:assert/strict'
import type { PruneReport } from '@bowline/sessions'
import {
  appendEntries,
  appendEvents,
  ensure,
  fence,
  insertRun,
  mark,
  other,
  parentOf,
  patchRun,
  putCalls,
  room,
  settledCall,
  startMs,
  userEntry,
} from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

const old = startMs + 10
const nothing: PruneReport = { runs: 0, events: 0, more: false }

/** Creates a run with two events that ended at this time. */
async function endedRun(bench: Bench, id: string, endedAt: number, key = room): Promise<void> {
  const queued = { event: { type: 'run-queued', at: startMs, runId: id }, refers: { runInput: id } } as const
  await bench.commit([ensure(key), insertRun(id, { inputId: `input of ${id}` }), appendEvents(queued)], { key })
  await bench.commit([appendEvents(mark(id)), patchRun(id, { status: 'aborted', endedAt })], { key })
}

async function pruneRuns(bench: Bench, limit = 100): Promise<PruneReport> {
  return bench.store.prune({ runsEndedBefore: old }, limit)
}

/** Tests that pruning deletes only records past their retention. */
export const pruning: Topic = ({ it }) => {
  it('S164: runs that ended before the time go, with their events and input ids', async (bench, stores) => {
    await endedRun(bench, 'run-1', old - 2)
    await endedRun(bench, 'run-2', old - 1)
    await endedRun(bench, 'run-3', old)
    const { firstSeq: _, ...before } = await bench.session()
    assert.deepEqual(await pruneRuns(bench), { runs: 2, events: 4, more: false })
    const again = await stores.reopen(bench)
    assert.deepEqual(
      (await again.store.listRuns(room)).items.map((run) => run.id),
      ['run-3'],
    )
    for (const id of ['run-1', 'run-2']) assert.deepEqual(await again.store.readRun(id), { status: 'missing' })
    const page = await again.store.readEvents(room, 0, 10)
    assert.deepEqual([page.events.map((event) => event.seq), page.firstSeq, page.lastSeq], [[5, 6], 5, 6])
    assert.deepEqual(page.events[0], { type: 'run-queued', at: startMs, runId: 'run-3', input: (await again.run('run-3')).input, seq: 5 })
    // Pruning is not a commit: nothing else has changed.
    assert.deepEqual(await again.session(), { ...before, firstSeq: 5 })
    const reuse = insertRun('run-4', { inputId: 'input of run-1', inputHash: 'other content' })
    const result = await again.commit([reuse, appendEvents(mark('d'))])
    assert.deepEqual([result.existing, result.firstSeq, (await again.run('run-4')).n], [undefined, 7, 4])
    await again.refused('id-reused', [insertRun('run-5', { inputId: 'input of run-3', inputHash: 'other content' })])
  })

  it('S164: a second time nothing is left to remove', async (bench) => {
    await endedRun(bench, 'run-1', old - 1)
    await pruneRuns(bench)
    const before = await bench.everything()
    assert.deepEqual(await pruneRuns(bench), nothing)
    assert.deepEqual(await bench.everything(), before)
    assert.equal((await bench.store.readEvents(room, 0, 10)).firstSeq, 3)
    assert.equal((await bench.commit([appendEvents(mark('next'))])).firstSeq, 3)
  })

  it('S164: open runs stay, and all that came after their first event', async (bench) => {
    await endedRun(bench, 'run-1', old - 3)
    await bench.commit([insertRun('open'), appendEvents(mark('of the open run'))])
    await endedRun(bench, 'run-2', old - 1)
    const kept = await bench.run('run-2')
    assert.deepEqual(await pruneRuns(bench), { runs: 1, events: 2, more: false })
    assert.deepEqual(
      (await bench.store.listRuns(room)).items.map((run) => run.id),
      ['open', 'run-2'],
    )
    assert.deepEqual(await bench.run('run-2'), kept)
    assert.deepEqual(
      (await bench.store.readEvents(room, 0, 10)).events.map((event) => event.seq),
      [3, 4, 5],
    )
    for (const status of ['running', 'awaiting-approval', 'needs-recovery', 'queued'] as const) {
      await bench.claim({ runId: 'open' })
      await bench.commit([patchRun('open', { status })])
      assert.deepEqual(await pruneRuns(bench), nothing)
      if (status !== 'queued') await bench.commit([patchRun('open', { status: 'queued' })])
    }
    await bench.commit([patchRun('open', { status: 'aborted', endedAt: old - 1 })])
    assert.deepEqual(await pruneRuns(bench), { runs: 2, events: 3, more: false })
  })

  it('S164: messages, usage and what entries refer to in the ledger stay', async (bench) => {
    await bench.running('run-1')
    const call = { runId: 'run-1', step: 1, toolCallId: 'call-1' }
    const row = settledCall('run-1', 'call-1')
    await bench.commit([
      putCalls(row),
      appendEntries(userEntry('a', null), { id: row.outcome?.id ?? '', parentId: 'a', type: 'message', at: startMs, runId: 'run-1', call }),
      appendEvents({ event: { type: 'tool-execution-end', at: startMs }, refers: { call } }),
      patchRun('run-1', { status: 'completed', endedAt: old - 1, usage: { inputTokens: 3 } }),
      { op: 'session.patch', patch: { turns: 1, usage: { inputTokens: 3 }, childUsage: { inputTokens: 4 } } },
    ])
    const path = await bench.store.readPath(room)
    const { usage, childUsage, turns } = await bench.session()
    assert.deepEqual(await pruneRuns(bench), { runs: 1, events: 1, more: false })
    assert.deepEqual(await bench.store.readPath(room), path)
    assert.ok(path.items[0]?.type === 'message')
    assert.deepEqual(path.items[0].message, row.outcome)
    const after = await bench.session()
    assert.deepEqual([after.usage, after.childUsage, after.turns], [usage, childUsage, turns])
    assert.deepEqual(await bench.store.readCall(room, 'call-1'), { status: 'found', value: row })
  })

  it('S164: an event that stays is whole, also when the run it was of is gone', async (bench) => {
    const first = await bench.running('run-1')
    await bench.commit([appendEvents(mark('of run-1')), insertRun('run-2'), appendEvents(mark('of run-2'))])
    const refers = { call: { runId: 'run-1', step: 1, toolCallId: 'call-1' } }
    await bench.commit(
      [
        putCalls(settledCall('run-1', 'call-1')),
        appendEvents({ event: { type: 'tool-execution-end', at: startMs, runId: 'run-1' }, refers }),
        patchRun('run-1', { status: 'completed', endedAt: old - 1 }),
      ],
      { expect: [fence(first)] },
    )
    await bench.commit([appendEvents(mark('before'))])
    const { events } = await bench.store.readEvents(room, 0, 10)
    assert.deepEqual(await pruneRuns(bench), { runs: 1, events: 1, more: false })
    assert.deepEqual((await bench.store.readEvents(room, 0, 10)).events, events.slice(1))
    assert.deepEqual(await bench.store.readRun('run-1'), { status: 'missing' })
  })

  it('S164: a child run that is gone is no child any more', async (bench) => {
    await bench.commit([ensure(other), insertRun('child-1', { parent: parentOf('run-1') })], { key: other })
    await bench.commit([patchRun('child-1', { status: 'aborted', endedAt: old - 1 })], { key: other })
    assert.equal((await pruneRuns(bench)).runs, 1)
    for (const parent of [{ runId: 'run-1' }, { session: room }]) {
      assert.deepEqual(await bench.store.listChildren({ parent }), { items: [] })
    }
  })

  it('S164: pruning goes in small steps until nothing is left', async (bench) => {
    for (let index = 0; index < 5; index++) await endedRun(bench, `run-${index}`, old - 1, `room:${index}`)
    await bench.commit([ensure('room:busy'), insertRun('busy')], { key: 'room:busy' })
    const reports = [await pruneRuns(bench, 2), await pruneRuns(bench, 2), await pruneRuns(bench, 2)]
    assert.deepEqual(reports, [
      { runs: 2, events: 4, more: true },
      { runs: 2, events: 4, more: true },
      { runs: 1, events: 2, more: false },
    ])
  })

  it('S161: an expired session stays until a commit deletes it, which it can be, whatever is below it', async (bench) => {
    const child = `${room}~researcher~1`
    for (const key of [room, child]) {
      await bench.commit([ensure(key, { ttl: { maxAgeMs: 10 }, ...(key === child && { parent: room }) }), appendEvents(mark(key))], { key })
    }
    await bench.commit([insertRun('run-1')])
    await bench.clock.advance(10)
    await bench.commit([{ op: 'session.expire' }])
    assert.deepEqual(await bench.store.prune({ runsEndedBefore: startMs + 100 }, 10), nothing)
    for (const key of [room, child]) assert.equal((await bench.store.readSession(key)).status, 'expired')
    await bench.commit([{ op: 'session.delete', at: startMs + 15 }])
    assert.deepEqual(await bench.store.readSession(room), { status: 'deleted', at: startMs + 15 })
    assert.deepEqual(await bench.store.readRun('run-1'), { status: 'missing' })
    assert.equal((await bench.store.readSession(child)).status, 'expired')
    await bench.commit([{ op: 'session.delete', at: startMs + 15, leavesNothing: true }], { key: child })
    assert.deepEqual(await bench.store.readSession(child), { status: 'missing' })
    assert.equal((await bench.commit([ensure(room, { id: 'second' }), appendEvents(mark('a'))])).firstSeq, 3)
  })

  it('S111: a definition stays as long as a run refers to it', async (bench) => {
    const put = (hash: string) => ({ op: 'definition.put', hash, body: { model: hash } }) as const
    await bench.commit([ensure(), insertRun('run-1'), put('old'), patchRun('run-1', { definition: 'old' })])
    await bench.commit([insertRun('run-2'), put('both'), patchRun('run-2', { definition: 'both' })])
    await bench.commit([ensure(other), insertRun('run-3'), put('both'), patchRun('run-3', { definition: 'both' })], { key: other })
    const ends = { status: 'aborted', endedAt: old - 1 } as const
    await bench.commit([patchRun('run-1', ends), patchRun('run-2', ends)])
    assert.deepEqual(await bench.store.readDefinition('old'), { model: 'old' })
    assert.equal((await pruneRuns(bench)).runs, 2)
    assert.equal(await bench.store.readDefinition('old'), undefined)
    assert.deepEqual(await bench.store.readDefinition('both'), { model: 'both' })
    await bench.commit([patchRun('run-3', ends)], { key: other })
    await pruneRuns(bench)
    assert.equal(await bench.store.readDefinition('both'), undefined)
  })
}
