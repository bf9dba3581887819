import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, logOf, types } from '../support.ts'
import { childrenOf, handOver, helper, root, team, toldOf } from './support.ts'

describe('a subagent that is waited for', () => {
  it('S132, S147: is a durable run under its parent, and the log of the parent tells of it in order', async () => {
    const store = memoryStore()
    const { runtime, session, faults } = await team([{ toolCalls: [handOver('d', 'scout', { description: 'a look' })] }, { text: 'done' }], {
      store,
      subagents: [helper('scout', [{ text: 'it is there' }])],
    })
    const run = await session.send('go')
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    const [child] = await childrenOf(store)
    expect(child).toMatchObject({ kind: 'child', status: 'completed', parent: { session: root, runId: run.runId, toolCallId: 'd', path: ['scout'], description: 'a look' } })
    expect(await toldOf(runtime, 'd')).toEqual({ result: 'completed', text: 'it is there', steps: 1 })
    const log = await checkLog(session)
    const ofCall = log.filter((event) => 'toolCallId' in event && event.toolCallId === 'd')
    expect(types(ofCall).filter((type) => !type.startsWith('tool-call'))).toEqual(['tool-execution-start', 'child-start', 'child-start', 'child-end', 'tool-execution-end'])
    expect(types(await logOf(runtime.session(root))).filter((type) => type === 'settled')).toHaveLength(1)
    expect(await store.readInbox(root, ['child-changed', 'child-settled'])).toEqual([])
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S133: with one slot, three levels deep, nothing waits for ever', async () => {
    const store = memoryStore()
    const third = helper('third', [{ text: 'three' }])
    const second = helper('second', [{ toolCalls: [handOver('c', 'third')] }, { text: 'two' }], { subagents: [third] })
    const first = helper('first', [{ toolCalls: [handOver('b', 'second')] }, { text: 'one' }], { subagents: [second] })
    const { runtime, session, faults } = await team([{ toolCalls: [handOver('a', 'first')] }, { text: 'done' }], { store, concurrency: 1, subagents: [first] })
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'completed', text: 'done' })
    for (const key of [root, `${root}`]) await checkLog(runtime.session(key))
    expect(faults).toEqual([])
    await runtime.stop()
  })
})
