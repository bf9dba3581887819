import { describe, expect, it } from 'vitest'
import type { Journal } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'
import { gated, remote, until } from '../../support/tools.ts'
import { handOver, helper, lead, plainCall, toldOf } from './support.ts'

const childOf = (talk: Conversation, key = 'run_1/d') => talk.journal.childJournals.get(key)

function waiting(name = 'scout') {
  const gate = gated('wait', { effect: 'pure' })
  const child = helper(name, [{ text: 'I wait', toolCalls: [plainCall('w', 'wait')] }], { tools: [gate.tool] })
  return { gate, child }
}

/** Makes the parent die or yield while the child runs. */
function leaving(kind: 'yield' | 'fenced') {
  const controller = new AbortController()
  return { leave: () => controller.abort({ kind }), wrap: (journal: Journal): Journal => ({ ...journal, abortSignal: controller.signal }) }
}

describe('an abort of a tree', () => {
  it('A109: reaches the children, which end with it', async () => {
    const talk = conversation()
    const { gate, child } = waiting()
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'scout')] }], { subagents: [child] })
    const run = talk.run(lead(outer, {}, []), 'go')
    await until(() => gate.started.length === 1)
    run.abort('enough')
    await until(() => talk.clock.pendingTimers > 0)
    await talk.clock.advance(2_000)
    const result = await run.result()
    expect(result).toMatchObject({ status: 'aborted', reason: 'abort' })
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'error', output: { value: { result: 'aborted' } } })
    const inner = childOf(talk)?.childJournals.get('run_1/d/i')
    expect(inner?.events.find(({ type }) => type === 'turn-end')).toMatchObject({ status: 'aborted' })
    expect((await talk.memory.load()).open).toBeUndefined()
  })

  it('A107: waits for a child no longer than its own grace period', async () => {
    const talk = conversation()
    const gate = gated('wait', { effect: 'pure' })
    const child = helper('scout', [{ toolCalls: [plainCall('w', 'wait')] }], { tools: [gate.tool], abortGraceMs: 60_000 })
    const run = talk.run(lead(child, { abortGraceMs: 500 }, []), 'go')
    await until(() => gate.started.length === 1)
    run.abort()
    await until(() => talk.clock.pendingTimers > 0)
    await talk.clock.advance(500)
    expect(await run.result()).toMatchObject({ status: 'aborted' })
  })

  it('A169: the run stops waiting for a child when it belongs to another process', async () => {
    const { leave, wrap } = leaving('fenced')
    const talk = conversation({ unfinished: true, wrap })
    const { gate, child } = waiting()
    const run = talk.run(lead(child, {}, []), 'go')
    await until(() => gate.started.length === 1)
    run.abort()
    await until(() => talk.clock.pendingTimers > 0)
    leave()
    expect(await run.result()).toMatchObject({ status: 'error', reason: 'journal-error' })
    const commits = childOf(talk)?.commits.length
    await talk.clock.advance(60_000)
    gate.open('w')
    await until(() => talk.clock.pendingTimers === 0)
    expect(childOf(talk)?.commits).toHaveLength(commits ?? 0)
    expect(childOf(talk)?.events.map(({ type }) => type)).not.toContain('turn-end')
  })

  it('A108: a child that ends in the grace period reports its outcome', async () => {
    const talk = conversation()
    const { gate, child } = waiting()
    const run = talk.run(lead(child, {}, []), 'go')
    await until(() => gate.started.length === 1)
    run.abort()
    gate.open('w')
    const { usage } = await run.result()
    expect(await toldOf(talk, 'd')).toMatchObject({ output: { value: { result: 'aborted', text: 'I wait', steps: 1 } } })
    expect(usage.inputTokens).toBe(20)
  })

  it('A108: the end of a child is not lost when its journal is slow', async () => {
    const slow = (journal: Journal): Journal => ({
      ...journal,
      commit: (records, expect) => new Promise((resolve) => setImmediate(() => resolve(journal.commit(records, expect)))),
    })
    const talk = conversation({ wrap: (journal) => ({ ...journal, child: (key, meta) => slow(journal.child?.(key, meta) as Journal) }) })
    const { gate, child } = waiting()
    const run = talk.run(lead(child, {}, []), 'go')
    await until(() => gate.started.length === 1)
    run.abort()
    await until(() => talk.clock.pendingTimers > 0)
    await talk.clock.advance(2_000)
    expect(await run.result()).toMatchObject({ status: 'aborted', usage: { inputTokens: 20 } })
    expect(await toldOf(talk, 'd')).toMatchObject({ output: { value: { result: 'aborted' } } })
  })

  it('A161: an aborted parent starts no child', async () => {
    const talk = conversation()
    const controller = new AbortController()
    const first = gated('first', { sequential: true, effect: 'pure' })
    const agent = agentOf([{ toolCalls: [plainCall('a', 'first'), handOver('d', 'scout')] }], {
      tools: [first.tool],
      subagents: [helper('scout', [])],
    })
    const run = talk.run(agent, 'go', { abortSignal: controller.signal })
    await until(() => first.started.length === 1)
    controller.abort()
    first.open('a')
    const result = await run.result()
    expect(result.status).toBe('aborted')
    expect(talk.types()).not.toContain('child-start')
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
  })

  it('A112: leaves no listener and no run', async () => {
    const talk = conversation()
    const controller = new AbortController()
    const added: unknown[] = []
    const removed: unknown[] = []
    const { signal } = controller
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => [added.push(args[1]), add(...args)],
      removeEventListener: (...args: Parameters<typeof remove>) => [removed.push(args[1]), remove(...args)],
    })
    const run = talk.run(lead(helper('scout', [{ text: 'so' }])), 'go', { abortSignal: signal })
    await run.result()
    expect(removed).toEqual(added)
    expect(run.child('d')).toBeUndefined()
  })
})

describe('an abort of a suspended tree', () => {
  async function suspended() {
    const talk = conversation()
    const inner = helper('inner', [{ toolCalls: [plainCall('r', 'fetch'), { id: 'q', name: 'fetch', input: {} }] }], {
      tools: [remote('fetch')],
    })
    const outer = helper('outer', [{ toolCalls: [handOver('i', 'inner')] }], { subagents: [inner] })
    const agent = lead(outer, {}, [{ text: 'next' }])
    const { result } = await talk.play(agent, 'go')
    expect(result.status).toBe('awaiting-tools')
    return { talk, agent }
  }

  it('ends the open turns of its children, and books their usage', async () => {
    const { talk, agent } = await suspended()
    const { result } = await talk.play(agent, undefined, { abortSignal: AbortSignal.abort() })
    expect(result).toMatchObject({ status: 'aborted', usage: { inputTokens: 30 } })
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
    const child = childOf(talk)
    const inner = child?.childJournals.get('run_1/d/i')
    expect((await child?.load())?.open).toBeUndefined()
    expect((await inner?.load())?.open).toBeUndefined()
    expect(inner?.events.filter(({ type }) => type === 'tool-execution-end')).toMatchObject([
      { message: { status: 'cancelled' } },
      { message: { status: 'cancelled' } },
    ])
    expect(talk.view()).toMatchObject({ status: 'stopped', pendingToolCalls: [], children: [{ status: 'stopped' }] })
    expect((await talk.play(agent, 'again')).result).toMatchObject({ status: 'completed', text: 'next' })
  })

  it('ends a child that was answered when the abort comes before the child goes on', async () => {
    const controller = new AbortController()
    const state = { stops: false }
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => {
          if (state.stops) controller.abort()
          return journal.commit(records, expect)
        },
      }),
    })
    const far = helper('far', [{ toolCalls: [plainCall('r', 'fetch')] }], { tools: [remote('fetch')] })
    const agent = lead(far, {}, [])
    await talk.play(agent, 'go')
    state.stops = true
    const { result } = await talk.play(
      agent,
      { toolResults: [{ toolCallId: 'r', path: ['d'], output: 1 }] },
      { abortSignal: controller.signal },
    )
    expect(result).toMatchObject({ status: 'aborted', usage: { inputTokens: 20 } })
    expect((await childOf(talk)?.load())?.open).toBeUndefined()
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
  })

  it('A75: a new input that cancels pending work does so too', async () => {
    const { talk, agent } = await suspended()
    const { result } = await talk.play(agent, 'something else', { onInputWhilePending: 'cancel' })
    expect(result).toMatchObject({ status: 'completed', text: 'next' })
    expect((await childOf(talk)?.load())?.open).toBeUndefined()
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
  })

  it('ends a waiting child when its parent is stopped while another call runs', async () => {
    const talk = conversation()
    const gate = gated('wait', { effect: 'pure' })
    const far = helper('far', [{ toolCalls: [plainCall('r', 'fetch')] }], { tools: [remote('fetch')] })
    const agent = agentOf([{ toolCalls: [handOver('d', 'far'), plainCall('w', 'wait')] }], { subagents: [far], tools: [gate.tool] })
    const run = talk.run(agent, 'go')
    await until(() => childOf(talk)?.events.at(-1)?.type === 'save-point')
    run.abort()
    gate.open('w')
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect((await childOf(talk)?.load())?.open).toBeUndefined()
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
  })
})

describe('a tree that is yielded', () => {
  it('A179: a yield reaches the children, which go on elsewhere with their parent', async () => {
    const { leave, wrap } = leaving('yield')
    let wraps = wrap
    const talk = conversation({ wrap: (journal) => ({ ...wraps(journal), load: () => journal.load() }) })
    const gate = gated('wait', { effect: 'pure' })
    const child = helper('scout', [{ toolCalls: [plainCall('w', 'wait')] }, { text: 'so' }], { tools: [gate.tool] })
    const agent = lead(child)
    const run = talk.run(agent, 'go')
    await until(() => gate.started.length === 1)
    leave()
    await until(() => talk.clock.pendingTimers > 0)
    await talk.clock.advance(2_000)
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect(childOf(talk)?.events.map(({ type }) => type)).not.toContain('turn-end')
    expect(talk.types()).not.toContain('tool-execution-end')
    wraps = (journal) => journal
    const next = agent.run(undefined, { journal: talk.journal, clock: talk.clock, ids: talk.ids })
    await until(() => gate.started.length === 2)
    gate.open('w')
    expect(await next.result()).toMatchObject({ status: 'completed', text: 'done' })
    expect(childOf(talk)?.events.filter(({ type }) => type === 'tool-execution-start')).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
    expect(talk.journal.events.filter(({ type }) => type === 'tool-execution-start')).toHaveLength(1)
  })

  it('a child that yields makes its parent yield', async () => {
    const controller = new AbortController()
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => ({
        ...journal,
        child: (key, meta) => ({ ...(journal.child?.(key, meta) as Journal), abortSignal: controller.signal }),
      }),
    })
    const { gate, child } = waiting()
    const run = talk.run(lead(child, {}, []), 'go')
    await until(() => gate.started.length === 1)
    controller.abort({ kind: 'yield' })
    await until(() => talk.clock.pendingTimers > 0)
    await talk.clock.advance(2_000)
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect(talk.types()).not.toContain('tool-execution-end')
  })

  it.each(['yield', 'fenced'] as const)('a child whose journal signals %s makes its parent stop without an end too', async (kind) => {
    const controller = new AbortController()
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => ({
        ...journal,
        child: (key, meta) => ({ ...(journal.child?.(key, meta) as Journal), abortSignal: controller.signal }),
      }),
    })
    const { gate, child } = waiting()
    const run = talk.run(lead(child, {}, []), 'go')
    await until(() => gate.started.length === 1)
    const before = talk.journal.commits.length
    controller.abort({ kind })
    if (kind === 'yield') {
      await until(() => talk.clock.pendingTimers > 0)
      await talk.clock.advance(2_000)
    }
    expect(await run.result()).toMatchObject(
      kind === 'yield' ? { reason: 'yielded' } : { reason: 'journal-error', error: { code: 'fenced' } },
    )
    expect(talk.journal.commits.length).toBeLessThanOrEqual(before + 1)
    expect(talk.types()).not.toContain('tool-execution-end')
  })
})
