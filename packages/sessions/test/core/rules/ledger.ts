import assert from 'node:assert/strict'
import { terminalStatuses } from '@bowline/sessions/internal'
import { insertRun, openCall, patchRun, putAnswers, putCalls, room, settledCall } from './bench.ts'
import type { Topic } from './kit.ts'

/** Tests that a call has exactly one outcome, that a run cannot end without it, and that answers wait in the inbox. */
export const ledger: Topic = ({ it }) => {
  it('S42: a run with a call that has no outcome cannot end', async (bench) => {
    await bench.running('run-1')
    await bench.commit([putCalls(settledCall('run-1', 'done'))])
    for (const state of ['pending', 'started', 'remote'] as const) {
      await bench.commit([putCalls(openCall('run-1', 'call-1', { state }))])
      for (const status of terminalStatuses) await bench.refused('open-calls', [patchRun('run-1', { status })])
    }
    // The outcome may be in the batch of the end, before or after it.
    await bench.commit([patchRun('run-1', { status: 'completed' }), putCalls(settledCall('run-1', 'call-1'))])
  })

  it('S42: no call can be opened in the batch that ends its run, nor later', async (bench) => {
    await bench.running('run-1')
    await bench.refused('open-calls', [patchRun('run-1', { status: 'error' }), putCalls(openCall('run-1', 'call-1'))])
    await bench.commit([patchRun('run-1', { status: 'error' })])
    await bench.refused('open-calls', [putCalls(openCall('run-1', 'call-1'))])
  })

  it('S42: a call that has an outcome takes no other', async (bench) => {
    await bench.running('run-1')
    await bench.commit([putCalls(openCall('run-1', 'call-1', { state: 'pending', attempt: 0 }))])
    await bench.commit([putCalls(openCall('run-1', 'call-1', { state: 'started', attempt: 1 }))])
    await bench.commit([putCalls(settledCall('run-1', 'call-1'))])
    await bench.refused('conflict', [putCalls(settledCall('run-1', 'call-1', { status: 'error' }))])
    await bench.refused('conflict', [putCalls(openCall('run-1', 'call-1'))])
    await bench.refused('conflict', [putCalls(settledCall('run-1', 'call-2'), settledCall('run-1', 'call-2'))])
  })

  it('S42: a call belongs to a run of the session', async (bench) => {
    await bench.running('run-1')
    await bench.running('run-2', 'room:2')
    await bench.refused('conflict', [putCalls(openCall('run-2', 'call-1'))])
    await bench.refused('conflict', [putCalls(openCall('unknown', 'call-1'))])
  })

  it('S74: calls are read as they were put, by step and place', async (bench) => {
    await bench.running('run-1')
    const calls = [
      openCall('run-1', 'b', { step: 2, index: 1, deadlineAt: 99, warnings: ['mind the step'] }),
      settledCall('run-1', 'a', { step: 2, index: 0, terminate: true, answerHash: 'hash of the answer' }),
      openCall('run-1', 'c', { step: 1, index: 0, state: 'remote' }),
    ]
    await bench.commit([putCalls(...calls)])
    const [b, a, c] = calls
    assert.deepEqual(await bench.store.readCalls('run-1'), [c, a, b])
    assert.deepEqual(await bench.store.readCalls('run-1', 2), [a, b])
    assert.deepEqual(await bench.store.readCalls('run-1', 3), [])
    assert.deepEqual(await bench.store.readCalls('unknown'), [])
  })

  it('S91: a call keeps what was asked about it and what it is given, and is found by its approval', async (bench) => {
    await bench.running('run-1')
    const approval = { approvalId: 'approval-1', state: 'requested', inputHash: 'hash', input: { sum: 1 } } as const
    const asked = openCall('run-1', 'pay', { state: 'pending', attempt: 0, deadlineAt: 9, approval })
    const read = (approvalId: string) => bench.store.readApproval(approvalId)
    await bench.commit([putCalls(asked, openCall('run-1', 'other', { index: 1, input: null }))])
    assert.deepEqual(await read('approval-1'), { status: 'found', value: asked })
    const decided = { ...approval, state: 'approved', decision: '{"decision":"approve"}', decided: { at: 7, by: 'ann' } } as const
    await bench.commit([putCalls(openCall('run-1', 'pay', { input: { sum: 2 }, approval: decided }))])
    const [pay, other] = await bench.store.readCalls('run-1')
    assert.deepEqual([pay?.input, pay?.approval, other?.input], [{ sum: 2 }, decided, null])
    assert.deepEqual(await read('approval-1'), { status: 'found', value: pay })
    assert.deepEqual(await read('unknown'), { status: 'missing' })
  })

  it('S90: the newest call with an id is found', async (bench) => {
    await bench.running('run-1')
    await bench.commit([putCalls(settledCall('run-1', 'call', { step: 1 }), settledCall('run-1', 'call', { step: 10 }))])
    const step = async () => {
      const read = await bench.store.readCall(room, 'call')
      return read.status === 'found' ? [read.value.runId, read.value.step] : read.status
    }
    assert.deepEqual(await step(), ['run-1', 10])
    await bench.commit([patchRun('run-1', { status: 'completed' }), insertRun('run-2')])
    await bench.commit([putCalls(openCall('run-2', 'call', { step: 2 }))])
    assert.deepEqual(await step(), ['run-2', 2])
    assert.deepEqual(await bench.store.readCall(room, 'unknown'), { status: 'missing' })
    assert.deepEqual(await bench.store.readCall('room:unknown', 'call'), { status: 'missing' })
  })

  it('S89: inbox rows keep their order, are put once and are taken', async (bench) => {
    await bench.running('run-1')
    const ids = async () => (await bench.store.readInbox(room, ['answer'])).map((row) => row.id)
    await bench.commit([putAnswers('z', 'a')])
    await bench.commit([putAnswers('m')])
    assert.deepEqual(await ids(), ['z', 'a', 'm'])
    await bench.refused('inbox', [putAnswers('new', 'a')])
    await bench.commit([{ op: 'inbox.take', ids: ['z', 'never was'] }, putAnswers('z')])
    assert.deepEqual(await ids(), ['a', 'm', 'z'])
    assert.deepEqual(await bench.store.readInbox(room, []), [])
    assert.deepEqual(await bench.store.readInbox('room:unknown', ['answer']), [])
  })
}
