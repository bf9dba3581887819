import assert from 'node:assert/strict'
import { holdingStatuses, runMoves, terminalStatuses, waitingStatuses } from '@bowline/sessions/internal'
import type { RunStatus } from '@bowline/sessions'
import { appendEvents, ensure, fence, insertRun, mark, newRun, patchRun, room, startMs } from './bench.ts'
import type { Bench } from './bench.ts'
import type { Topic } from './kit.ts'

const statuses = Object.keys(runMoves) as RunStatus[]

/** Creates a run with this status, through allowed moves. */
async function runIn(bench: Bench, status: RunStatus, id: string): Promise<void> {
  const key = `room:${id}`
  if (status === 'queued') return void (await bench.commit([ensure(key), insertRun(id)], { key }))
  await bench.running(id, key)
  if (status !== 'running') await bench.commit([patchRun(id, { status })], { key })
}

/** Tests of the moves of runs, and that at most one holds a session. */
export const runs: Topic = ({ it }) => {
  it('S17: a new run is queued, with the next place and its first event', async (bench) => {
    await bench.commit([ensure(), appendEvents(mark('a'))])
    await bench.commit([insertRun('run-1', { inputId: 'input-1' }), appendEvents(mark('b')), insertRun('run-2')])
    const { at, ...given } = newRun('run-1', { inputId: 'input-1' })
    assert.deepEqual(await bench.run('run-1'), {
      ...given,
      session: room,
      n: 1,
      place: 3 * 2 ** 40 + 1,
      firstSeq: 2,
      status: 'queued',
      epoch: 0,
      attempts: 0,
      totalAttempts: 0,
      step: 0,
      pendingToolCalls: [],
      pendingApprovals: [],
      usage: {},
      createdAt: at,
    })
    const { n, firstSeq } = await bench.run('run-2')
    assert.deepEqual([n, firstSeq], [2, 3])
    assert.equal((await bench.session()).nextRun, 3)
  })

  it('S17: a run id is used once, in any session', async (bench) => {
    await bench.commit([ensure(), insertRun('run-1')])
    await bench.refused('conflict', [insertRun('run-1')])
    await bench.refused('conflict', [ensure('room:2'), insertRun('run-1')], { key: 'room:2' })
  })

  it('S75: a run makes every move of the table and no other', async (bench) => {
    for (const from of statuses) {
      // A refused move leaves the run as it was, so that all of them are tried on one run.
      const kept = `kept-${from}`
      await runIn(bench, from, kept)
      for (const to of statuses.filter((each) => !runMoves[from].includes(each)))
        await bench.refused('conflict', [patchRun(kept, { status: to })], { key: `room:${kept}` })
      assert.equal((await bench.run(kept)).status, from)
      for (const to of runMoves[from]) {
        const id = `${from}-${to}`
        await runIn(bench, from, id)
        await bench.commit([patchRun(id, { status: to })], { key: `room:${id}` })
        assert.equal((await bench.run(id)).status, to)
      }
    }
  })

  it('S34: a run of another session, or no run, cannot be changed', async (bench) => {
    await bench.commit([ensure('room:2'), insertRun('run-2')], { key: 'room:2' })
    await bench.commit([ensure()])
    await bench.refused('conflict', [patchRun('run-2', { step: 1 })])
    await bench.refused('conflict', [patchRun('unknown', { step: 1 })])
  })

  it('S41: a second holding run of a session is refused, whoever asks', async (bench) => {
    for (const holding of holdingStatuses) {
      const key = `room:${holding}`
      const claim = await bench.running(`first-${holding}`, key)
      await bench.commit([patchRun(claim.run.id, { status: holding }), insertRun(`second-${holding}`)], { key })
      await bench.refused('busy', [patchRun(`second-${holding}`, { status: 'running' })], { key })
      const next = [patchRun(claim.run.id, { status: 'aborted' }), patchRun(`second-${holding}`, { status: 'running' })]
      await bench.commit(next, { key })
    }
  })

  it('S62: a patch sets, keeps and removes fields', async (bench) => {
    const claim = await bench.running('run-1')
    const pending = { toolCallId: 'call-1', toolName: 'pay', input: {}, path: [], agent: [] }
    await bench.commit([
      patchRun('run-1', { turn: 1, step: 2, openMessageId: 'message-1', startedAt: 5, usage: { inputTokens: 3 } }),
      patchRun('run-1', { stop: { at: 6, reason: 'enough' }, pendingToolCalls: [pending] }),
    ])
    const full = { turn: 1, step: 2, openMessageId: 'message-1', startedAt: 5, usage: { inputTokens: 3 } }
    const expected = { ...claim.run, ...full, stop: { at: 6, reason: 'enough' }, pendingToolCalls: [pending] }
    assert.deepEqual(await bench.run('run-1'), expected)
    await bench.commit([patchRun('run-1', { openMessageId: null, reason: null, error: null, pendingToolCalls: [] })])
    const { openMessageId: _, ...rest } = expected
    assert.deepEqual(await bench.run('run-1'), { ...rest, pendingToolCalls: [] })
  })

  it('S114: what a turn keeps, and how its run is to rest, is set, kept and removed', async (bench) => {
    const claim = await bench.running('run-1')
    const approval = {
      approvalId: 'approval-1',
      toolCallId: 'call-1',
      toolName: 'pay',
      input: { sum: 1 },
      inputHash: 'hash',
      path: [],
      agent: [],
    }
    const kept = {
      pendingApprovals: [approval],
      turnState: {
        attempt: 2,
        notBefore: 9,
        elapsedMs: 5,
        retry: { count: 1, model: 0, open: true as const },
        extensionState: { notes: ['a', null] },
      },
      rest: { status: 'awaiting-approval' as const, reason: 'pending' as const },
    }
    await bench.commit([patchRun('run-1', kept)])
    assert.deepEqual(await bench.run('run-1'), { ...claim.run, ...kept })
    await bench.commit([patchRun('run-1', { step: 2 })])
    assert.deepEqual(await bench.run('run-1'), { ...claim.run, ...kept, step: 2 })
    await bench.commit([patchRun('run-1', { pendingApprovals: [], turnState: null, rest: null })])
    assert.deepEqual(await bench.run('run-1'), { ...claim.run, step: 2 })
  })

  it('S88: a run that waits, is given back or has ended has neither owner nor lease', async (bench) => {
    for (const status of ['queued', ...waitingStatuses, ...terminalStatuses] as const) {
      const key = `room:${status}`
      const claim = await bench.running(status, key)
      assert.equal(claim.run.owner, 'owner-a')
      await bench.commit([patchRun(status, { status })], { key, expect: [fence(claim)] })
      const run = await bench.run(status)
      assert.deepEqual([run.owner, run.leaseUntil, run.epoch], [undefined, undefined, 1])
    }
  })

  it('S124: a terminal status sets the end, by the store’s clock or as given', async (bench) => {
    await bench.running('run-1')
    await bench.commit([patchRun('run-1', { status: 'queued' })])
    assert.equal((await bench.run('run-1')).endedAt, undefined)
    await bench.clock.advance(250)
    await bench.commit([patchRun('run-1', { status: 'aborted', reason: 'abort' })])
    const run = await bench.run('run-1')
    assert.deepEqual([run.endedAt, run.reason], [startMs + 250, 'abort'])
    await bench.commit([insertRun('run-2'), patchRun('run-2', { status: 'aborted', endedAt: 77 })])
    assert.equal((await bench.run('run-2')).endedAt, 77)
  })

  it('S215: the status of a session is that of the run that holds it or comes next, else of the last one that ended', async (bench) => {
    const status = async () => (await bench.session()).status
    await bench.commit([ensure(), appendEvents(mark('a'))])
    assert.equal(await status(), undefined)
    await bench.commit([insertRun('run-1'), insertRun('run-2')])
    assert.equal(await status(), 'queued')
    await bench.claim()
    assert.equal(await status(), 'running')
    await bench.commit([patchRun('run-1', { turnState: { elapsedMs: 0, retry: { count: 1, model: 0, open: true } } })])
    assert.equal(await status(), 'waiting-for-retry')
    await bench.commit([insertRun('run-3')])
    assert.equal(await status(), 'waiting-for-retry')
    await bench.commit([patchRun('run-1', { openMessageId: 'message-1' })])
    assert.equal(await status(), 'running')
    const words = {
      'awaiting-tools': 'waiting-for-user',
      'awaiting-approval': 'waiting-for-user',
      'awaiting-subagent': 'waiting-for-subagent',
      'needs-recovery': 'needs-recovery',
    } as const
    for (const waiting of waitingStatuses) {
      await bench.commit([patchRun('run-1', { status: waiting, turnState: null, openMessageId: null })])
      assert.equal(await status(), words[waiting])
      await bench.commit([patchRun('run-1', { status: 'queued' })])
      await bench.claim()
    }
    await bench.commit([patchRun('run-1', { status: 'aborted' })])
    assert.deepEqual([await status(), (await bench.session()).outcome], ['queued', 'aborted'])
    await bench.commit([patchRun('run-3', { status: 'aborted' }), patchRun('run-2', { status: 'running' })])
    assert.equal(await status(), 'running')
    await bench.commit([patchRun('run-2', { status: 'error' })])
    assert.deepEqual([await status(), (await bench.session()).outcome], ['failed', 'error'])
  })

  it('S215: a compaction is visible while it runs, and not afterwards', async (bench) => {
    const standing = async () => [(await bench.session()).status, (await bench.session()).outcome]
    await bench.commit([ensure(), insertRun('early', { kind: 'compaction' })])
    await bench.claim()
    assert.deepEqual(await standing(), ['running', undefined])
    await bench.commit([patchRun('early', { status: 'completed' })])
    assert.deepEqual(await standing(), [undefined, undefined])
    await bench.running('run-1')
    await bench.commit([patchRun('run-1', { status: 'limit' }), insertRun('late', { kind: 'compaction' })])
    assert.deepEqual(await standing(), ['queued', 'limit'])
    await bench.claim()
    await bench.commit([patchRun('late', { status: 'completed' })])
    assert.deepEqual(await standing(), ['stopped', 'limit'])
  })

  it('S215: a run whose last question below is answered waits for its subagent', async (bench) => {
    const call = { toolCallId: 'call-1', toolName: 'pay', input: {}, path: ['d'], agent: ['scout'] }
    const approval = {
      approvalId: 'approval-1',
      toolCallId: 'call-2',
      toolName: 'pay',
      input: {},
      inputHash: 'hash',
      path: ['d'],
      agent: ['scout'],
    }
    await bench.running('run-1')
    await bench.commit([patchRun('run-1', { status: 'awaiting-tools', pendingToolCalls: [call], pendingApprovals: [approval] })])
    await bench.commit([patchRun('run-1', { answered: ['d/call-1'] })])
    assert.equal((await bench.run('run-1')).status, 'awaiting-tools')
    await bench.commit([patchRun('run-1', { answered: ['approval-1'] })])
    assert.deepEqual([(await bench.run('run-1')).status, (await bench.session()).status], ['awaiting-subagent', 'waiting-for-subagent'])
    await bench.running('run-2', 'room:2')
    const rest = { reason: 'pending', error: { kind: 'network', message: 'gone', retryable: true, phase: 'before-output' } } as const
    await bench.commit([patchRun('run-2', { pendingToolCalls: [call], rest: { status: 'awaiting-tools', ...rest } })], { key: 'room:2' })
    await bench.commit([patchRun('run-2', { answered: ['d/call-1'] })], { key: 'room:2' })
    assert.deepEqual(
      [(await bench.run('run-2')).status, (await bench.run('run-2')).rest],
      ['running', { status: 'awaiting-subagent', ...rest }],
    )
  })

  it('S215: so does one that waits for approvals below; what does not wait for answers stays as it is', async (bench) => {
    const approval = {
      approvalId: 'approval-1',
      toolCallId: 'call-2',
      toolName: 'pay',
      input: {},
      inputHash: 'hash',
      path: ['d'],
      agent: ['scout'],
    }
    const after = {
      'awaiting-approval': 'awaiting-subagent',
      'awaiting-subagent': 'awaiting-subagent',
      'needs-recovery': 'needs-recovery',
      running: 'running',
    } as const
    for (const [before, expected] of Object.entries(after)) {
      const key = `room:${before}`
      await bench.running(before, key)
      const status = before === 'running' ? {} : { status: before as RunStatus }
      await bench.commit([patchRun(before, { ...status, pendingApprovals: [approval] })], { key })
      await bench.commit([patchRun(before, { answered: ['approval-2'] })], { key })
      assert.equal((await bench.run(before)).status, before)
      await bench.commit([patchRun(before, { answered: ['approval-1'] })], { key })
      const run = await bench.run(before)
      assert.deepEqual([run.status, run.pendingApprovals, run.answeredBelow], [expected, [], undefined])
    }
  })

  it('S94: that calls below were answered is known until the run waits anew', async (bench) => {
    const call = (toolCallId: string, path: readonly string[]) => ({ toolCallId, toolName: 'pay', input: {}, path, agent: ['scout'] })
    await bench.running('run-1')
    await bench.commit([
      patchRun('run-1', { status: 'awaiting-tools', pendingToolCalls: [call('b', ['d']), call('b', []), call('d/b', [])] }),
    ])
    await bench.commit([patchRun('run-1', { answered: ['e/b'] })])
    assert.equal((await bench.run('run-1')).answeredBelow, undefined)
    await bench.commit([patchRun('run-1', { answered: ['b'] })])
    const run = await bench.run('run-1')
    assert.deepEqual(
      [run.pendingToolCalls.map(({ toolCallId }) => toolCallId), run.answeredBelow, run.status],
      [['b', 'd/b'], true, 'awaiting-tools'],
    )
    await bench.commit([patchRun('run-1', { step: 3 })])
    assert.equal((await bench.run('run-1')).answeredBelow, true)
    await bench.commit([patchRun('run-1', { pendingToolCalls: [call('c', ['d'])] })])
    assert.equal((await bench.run('run-1')).answeredBelow, undefined)
  })

  it('S215: a change of a run that has ended says nothing new of its session', async (bench) => {
    await bench.running('run-1')
    await bench.commit([patchRun('run-1', { status: 'completed' }), insertRun('run-2')])
    await bench.commit([patchRun('run-2', { status: 'aborted' })])
    await bench.commit([patchRun('run-1', { usage: { inputTokens: 3 } })])
    assert.deepEqual([(await bench.session()).outcome, (await bench.run('run-1')).usage], ['aborted', { inputTokens: 3 }])
    assert.equal((await bench.run('run-1')).endedAt, startMs)
  })
}
