import { checkHistory } from '../explorers/history/check-history.ts'
import { describe, expect, it } from 'vitest'
import { accepted } from './recorded-runs.ts'
import {
  acceptAgain,
  acceptFirst,
  answered,
  begin,
  begun,
  claimed,
  claims,
  end,
  fence,
  idsOf,
  reads,
  rejected,
  seen,
  step,
  WrittenHistory,
} from './written-history.ts'

const key = 'room:1'
const stop = (written: WrittenHistory) =>
  written.batch([{ that: 'run', runId: 'run-1', status: ['running'] }], [{ op: 'run.patch', runId: 'run-1', stop: true }])

describe('histories that contradict the model', () => {
  it('S197: histories without a mistake are accepted', () => {
    const written = answered()
    written.operation('b', reads, seen(4, 9, 'message-2'))
    accepted(written.history(), { atRest: true })
    accepted(begun().history())
  })

  it('S196, S197: a read that misses what was acknowledged before it began is found', () => {
    const written = begun()
    const last = written.commit('a', written.batch(...end(1)), [4, 7, 8])
    const read = written.operation('b', reads, seen(3, 7, 'message-1'))
    const problem = rejected(written)
    expect(problem).toMatchObject({ session: 'default/room:1', rule: 'read', message: 'b#1 returns version 3, expected 4' })
    expect(idsOf(problem)).toEqual([last, read])
    expect(problem.text).toContain('b#1 [11 … 12] readSession {key:room:1} → {status:found')
  })

  it('S196, S197: the same read is accepted if it began before the answer', () => {
    const written = begun()
    const last = written.call('a', written.batch(...end(1)))
    const read = written.call('b', reads)
    last.answer({ ok: true, sessionId: 'session-1', version: 4, firstSeq: 7, lastSeq: 8 })
    read.answer(seen(3, 7, 'message-1'))
    accepted(written.history())
  })

  it('S197: a list of runs that does not follow the end of the turn is found', () => {
    const [expected, writes] = end(1)
    const resting = writes.map((write) =>
      write.op === 'run.patch' ? { op: write.op, runId: write.runId, rest: 'completed' as const } : write,
    )
    const list = (status: 'running' | 'completed') => {
      const written = begun()
      written.commit('a', written.batch(expected, resting), [4, 7, 8])
      written.operation('b', { what: 'runs', key }, { runs: [{ id: 'run-1', status }], isWhole: true })
      return written
    }
    expect(rejected(list('running'))).toMatchObject({
      rule: 'read',
      message: 'b#1 returns status running of the run run-1, which is running and whose turn is completed',
    })
    accepted(list('completed').history())
  })

  it('S197: a lost update is found: two commits make the same version', () => {
    const written = answered()
    const first = written.commit('a', written.batch(...acceptAgain('run-2', 'input-2')), [5, 9, 9])
    const second = written.commit('b', written.batch(...acceptAgain('run-3', 'input-3')), [5, 9, 9])
    const problem = rejected(written)
    expect(problem).toMatchObject({ rule: 'version' })
    expect(idsOf(problem)).toEqual([first, second])
  })

  it('S197: an answer that is accepted twice is found', () => {
    const written = answered()
    const again: Parameters<WrittenHistory['batch']>[1] = [
      { op: 'event.append', events: [{ type: 'turn-end', runId: 'run-1', status: 'completed' }] },
    ]
    written.commit('b', written.batch([{ that: 'session', id: 'session-1' }], again), [5, 9, 9])
    expect(rejected(written)).toMatchObject({
      rule: 'answered-once',
      message: 'b#1 ends the turn of the run run-1, which has already ended',
    })
  })

  it('S197: an input that becomes two runs is found', () => {
    const written = answered()
    written.commit('b', written.batch(...acceptAgain('run-2', 'input-1')), [5, 9, 9])
    expect(rejected(written)).toMatchObject({
      rule: 'answered-once',
      message: 'b#1 accepts the input input-1 as the run run-2, but the run run-1 already has it',
    })
  })

  it('S197: two writers in one epoch are found', () => {
    const written = begun()
    const other = written.commit('b', written.batch(...step(1)), [4, 7, 8])
    const problem = rejected(written)
    expect(problem).toMatchObject({ rule: 'one-writer', message: 'b#1 writes for the run run-1, but its epoch 1 belongs to the process a' })
    expect(idsOf(problem)).toEqual(['a#3', other])
  })

  it('S197: a commit under an old epoch, after the claim of the next one, is found', () => {
    const written = begun()
    const takeover = written.operation('b', claims, claimed(2, 4, 'running'))
    const late = written.commit('a', written.batch(...step(1)), [5, 7, 8])
    const problem = rejected(written)
    expect(problem).toMatchObject({
      rule: 'fence',
      message: 'a#5 writes under epoch 1 of the run run-1, but the run is running with epoch 2 of b',
    })
    expect(idsOf(problem)).toEqual([takeover, late])
  })

  it('S197: the same commit is found even if it does not name its epoch', () => {
    const written = begun()
    written.operation('b', claims, claimed(2, 4, 'running'))
    written.commit('a', written.batch([{ that: 'session', id: 'session-1' }], step(1)[1]), [5, 7, 8])
    expect(rejected(written)).toMatchObject({
      rule: 'one-writer',
      message: 'a#5 writes for the run run-1, but its epoch 2 belongs to the process b',
    })
  })

  it('S197: a gap in the numbers of events is found', () => {
    const written = begun()
    written.commit('a', written.batch(...end(1)), [4, 8, 9])
    expect(rejected(written)).toMatchObject({ rule: 'seq', message: 'a#5 returns the events 8 to 9, expected 7 to 8' })
  })

  it('S197: a log that a reader got with a gap is found', () => {
    const written = answered()
    const page = (seqs: readonly number[]) => ({
      firstSeq: 1,
      lastSeq: 8,
      sessionId: 'session-1',
      events: seqs.map((seq) => ({ seq, type: seq === 7 ? 'message-end' : 'turn-end', runId: 'run-1' })),
    })
    written.operation('b', { what: 'readEvents', key, after: 6, limit: 10 }, page([7, 8]))
    accepted(written.history())
    written.operation('b', { what: 'readEvents', key, after: 6, limit: 10 }, page([8]))
    expect(rejected(written)).toMatchObject({ rule: 'seq', message: 'b#2 returns the event 8, expected 7' })
  })

  it('S197: an acknowledged input that is missing is found', () => {
    const written = answered()
    const send = written.operation('b', { what: 'send', key, inputId: 'input-2' }, { runId: 'run-2', accepted: 'queued' })
    const problem = rejected(written)
    expect(problem).toMatchObject({ rule: 'lost-input' })
    expect(idsOf(problem)).toEqual([send])
  })

  it('S197: an input that is never answered is found once the runs are at rest', () => {
    const written = answered()
    const send = written.call('b', { what: 'send', key, inputId: 'input-2' })
    written.commit('b', written.batch(...acceptAgain('run-2', 'input-2')), [5, 9, 9])
    send.answer({ runId: 'run-2', accepted: 'queued' })
    accepted(written.history())
    expect(rejected(written, { atRest: true })).toMatchObject({
      rule: 'lost-input',
      message: 'the run run-2 was accepted, but is still queued at rest',
    })
  })

  it('S197: a claim that does not raise the epoch is found', () => {
    const written = begun()
    const takeover = written.operation('b', claims, claimed(1, 4, 'running'))
    const problem = rejected(written)
    expect(problem).toMatchObject({ rule: 'epoch', message: 'b#1 claims the run run-1 with epoch 1, expected 2' })
    expect(idsOf(problem)).toEqual(['a#3', takeover])
  })

  it('S197: two claims that both win are found', () => {
    const written = new WrittenHistory()
    written.commit('a', written.batch(...acceptFirst), [1, 1, 2])
    const calls = [written.call('a', claims), written.call('b', claims)]
    for (const call of calls) call.answer(claimed(1, 2))
    expect(rejected(written)).toMatchObject({ rule: 'epoch' })
  })

  it('S97, S197: an acknowledged stop that is ignored is found', () => {
    const written = begun()
    const request = written.call('b', { what: 'stop', key })
    written.commit('b', stop(written), [4, 7, 6])
    request.answer({ runId: 'run-1', state: 'pending' })
    const ignoring = written.commit('a', written.batch(...step(1)), [5, 7, 8])
    const problem = rejected(written)
    expect(problem).toMatchObject({
      rule: 'stop',
      message: 'a#5 starts a model call, tool or subagent of the run run-1, which has a stop request',
    })
    expect(idsOf(problem)).toEqual(['b#2', ignoring])
  })

  it('S97, S197: an owner that was told of a stop may store its current boundary, and nothing more', () => {
    const written = begun()
    written.commit('b', stop(written), [4, 7, 6])
    const [expected, writes] = step(1)
    written.operation('a', written.batch([...expected, { that: 'run', runId: 'run-1', status: ['running'], notStopping: true }], writes), {
      ok: false,
      reason: 'stopping',
    })
    written.commit('a', written.batch(expected, writes), [5, 7, 8])
    accepted(written.history())
    written.commit('a', written.batch(expected, writes), [6, 9, 10])
    expect(rejected(written)).toMatchObject({ rule: 'stop' })
  })

  it('S197: an acknowledged stop that is not stored is found', () => {
    const written = begun()
    written.operation('b', { what: 'stop', key }, { runId: 'run-1', state: 'pending' })
    expect(rejected(written)).toMatchObject({
      rule: 'stop',
      message: 'b#1 returns pending for the run run-1, but no stop request is stored',
    })
  })

  it('S197: a commit without an answer that is partly visible is found', () => {
    const written = begun()
    const lost = written.call('a', written.batch(...end(1)))
    const half = { what: 'readRun', runId: 'run-1' } as const
    const run = { id: 'run-1', key, epoch: 1, status: 'completed' } as const
    written.operation('b', half, { run })
    accepted(written.history())
    const read = written.operation('b', reads, seen(3, 7, 'message-1'))
    const problem = rejected(written)
    expect(problem).toMatchObject({ rule: 'read' })
    expect(idsOf(problem)).toEqual(['b#1', read])
    expect(lost.id).toBe('a#5')
  })

  it('S197: a commit without an answer may be applied late, but not after its owner has lost the run', () => {
    const written = begun()
    written.call('a', written.batch(...step(1)))
    written.operation('b', reads, seen(3, 7, 'message-1'))
    written.operation('b', reads, seen(4, 9, 'message-1'))
    accepted(written.history())
    const late = begun()
    late.call('a', late.batch(...step(1)))
    late.operation('b', claims, claimed(2, 4, 'running'))
    late.operation('b', reads, seen(4, 7, 'message-1'))
    late.operation('b', reads, seen(5, 9, 'message-1'))
    expect(rejected(late)).toMatchObject({ rule: 'read' })
  })

  it('S197: a claim without an answer may have been made, if no process writes under its epoch', () => {
    const written = new WrittenHistory()
    written.commit('a', written.batch(...acceptFirst), [1, 1, 2])
    written.call('a', claims)
    written.operation('b', claims, claimed(2, 3, 'running'))
    written.commit('b', written.batch(...begin(2)), [4, 3, 6])
    written.operation('a', written.batch(...step(1)), { ok: false, reason: 'fenced' })
    accepted(written.history())
  })

  it('S35, S197: a batch that is repeated under its id is applied once', () => {
    const written = begun()
    const batch = written.batch(...end(1))
    written.call('a', batch)
    written.commit('a', batch, [4, 7, 8])
    written.commit('a', batch, [4, 7, 8])
    accepted(written.history())
    written.commit('a', batch, [5, 9, 10])
    expect(rejected(written)).toMatchObject({ rule: 'version' })
  })

  it('S36, S197: a write that is refused as fenced although its fence is valid is found', () => {
    const written = begun()
    written.operation('a', written.batch(fence(1), []), { ok: false, reason: 'fenced' })
    expect(rejected(written)).toMatchObject({ rule: 'fence', message: 'a#5 is refused as fenced, but its fence is valid' })
  })

  it('S197: a search that takes too long is given up, and the error says so', () => {
    expect(checkHistory(answered().history(), { maxTries: 2 }).problems).toMatchObject([{ rule: 'undecided' }])
  })
})
