import type { Usage } from '@bowline/llm'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog } from '../support.ts'
import { childrenOf, found, handOver, helper, launch, nthRun, root, team } from './support.ts'

const spends = (input: number) => ({ usage: { input, output: 1 } })
const inputOf = (usage: Usage | undefined): number | undefined => usage?.inputTokens

describe('the cost of children', () => {
  it('S146: is booked once in each session above, at every depth, and once in the turn of each parent', async () => {
    const store = memoryStore()
    const third = helper('third', [{ text: 'three', ...spends(1000) }])
    const second = helper(
      'second',
      [
        { toolCalls: [handOver('c', 'third')], ...spends(50) },
        { text: 'two', ...spends(50) },
      ],
      { subagents: [third] },
    )
    const first = helper(
      'first',
      [
        { toolCalls: [handOver('b', 'second')], ...spends(5) },
        { text: 'one', ...spends(5) },
      ],
      { subagents: [second] },
    )
    const { runtime, session } = await team(
      [
        { toolCalls: [handOver('a', 'first')], ...spends(1) },
        { text: 'done', ...spends(1) },
      ],
      { store, subagents: [first] },
    )
    const { usage } = await (await session.send('go')).result()
    expect(inputOf(usage)).toBe(1112)
    const report = await session.usage()
    expect([report.own, report.children, report.total].map((each) => inputOf(each.usage))).toEqual([2, 1110, 1112])
    const [one] = await childrenOf(store)
    const [two] = await childrenOf(store, one?.session)
    const [three] = await childrenOf(store, two?.session)
    expect(
      await Promise.all(
        [one, two, three].map(async (child) => {
          const read = await store.readSession(child?.session ?? '')
          return 'value' in read ? [inputOf(read.value.usage), inputOf(read.value.childUsage)] : []
        }),
      ),
    ).toEqual([
      [10, 1100],
      [100, 1000],
      [1000, undefined],
    ])
    await checkLog(session)
    await runtime.stop()
  })

  it('S146: of a background child is booked in its session and above, not in the turn that launched it', async () => {
    const store = memoryStore()
    const deep = helper('deep', [{ text: 'deep', ...spends(1000) }])
    const steps = [
      { toolCalls: [handOver('b', 'deep')], ...spends(50) },
      { text: 'two', ...spends(50) },
    ]
    const scout = helper('scout', async (_call, index) => (await nthRun(store, 1), steps[index] ?? {}), { subagents: [deep] })
    const { runtime, session } = await team(
      [
        { toolCalls: [launch('a', 'scout')], ...spends(1) },
        { text: 'launched', ...spends(1) },
        { text: 'seen', ...spends(1) },
      ],
      { store, subagents: [scout] },
    )
    expect(inputOf((await (await session.send('go')).result()).usage)).toBe(2)
    await nthRun(store, 2)
    const { own, children } = await session.usage()
    expect([inputOf(own.usage), inputOf(children.usage)]).toEqual([3, 1100])
    expect(inputOf((await runtime.run((await childrenOf(store))[0]?.id ?? ''))?.usage)).toBe(1100)
    await runtime.stop()
  })

  it('S146: of a child that is killed with its parent is booked up to the kill', async () => {
    const store = memoryStore()
    const slow = helper('slow', [{ toolCalls: [{ id: 'x', name: 'nothing', input: {} }], ...spends(100) }, { hang: 'before' }])
    const { runtime, session } = await team([{ toolCalls: [handOver('a', 'slow')], ...spends(1) }], { store, subagents: [slow] })
    await session.send('go')
    await found(store, async () => (await childrenOf(store)).find((child) => child.step === 2 && child.openMessageId))
    await session.kill()
    const report = await runtime.session(root).usage()
    expect(inputOf(report.own.usage)).toBe(1)
    // The cost of the unfinished answer is estimated.
    expect(report.children.usage.estimated).toBe(true)
    expect(inputOf(report.children.usage)).toBeGreaterThan(100)
    const [child] = await childrenOf(store)
    expect(inputOf(report.children.usage)).toBe(inputOf(child?.usage))
    await runtime.stop()
  })
})
