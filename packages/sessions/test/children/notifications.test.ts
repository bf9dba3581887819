import { defineExtension, type AgentOptions } from '@bowline/agent-loop'
import { systemClock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'
import type { LoggedEvent, RunRecord, SessionReader, SessionStore } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { checkLog, collect, gate, logOf, type SetupOptions } from '../support.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { callTo, childrenOf, endOf, found, guarded, handOver, helper, launch, nthRun, remindersIn, root, team } from './support.ts'

const placeOf = placesOfStores()
const last = { text: 'seen' }

/** Returns every run of these sessions. */
async function runsIn(store: SessionStore, ...keys: readonly string[]): Promise<readonly RunRecord[]> {
  const pages = await Promise.all(keys.map((key) => store.listRuns(key, { limit: 1000 })))
  return pages.flatMap(({ items }) => items)
}

/** Returns the events of one type from the log of a subagent's session, which has no handle. */
async function eventsOf<Type extends LoggedEvent['type']>(
  session: SessionReader,
  type: Type,
): Promise<readonly Extract<LoggedEvent, { type: Type }>[]> {
  const log = await collect(session.events({ live: false }))
  return log.filter((event): event is Extract<LoggedEvent, { type: Type }> => event.type === type)
}

/** The root starts `mid`, which starts `leaf` in the background and ends before it. */
async function threeDeep(store: SessionStore, mid: Partial<AgentOptions> = {}, options: Partial<SetupOptions> = {}) {
  const go = gate()
  const leaf = helper('leaf', async () => (await go.passed, { text: 'the leaf' }))
  const between = helper(
    'mid',
    ({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? { text: 'mid sees' } : { toolCalls: [launch('l', 'leaf')] }),
    { subagents: [leaf], ...mid },
  )
  const made = await team([{ toolCalls: [handOver('m', 'mid')] }, last], { store, subagents: [between], ...options })
  await (await made.session.send('go')).result()
  const [child] = await childrenOf(store)
  const key = child?.session ?? ''
  return { ...made, key, middle: made.runtime.reader(key), leafEnds: () => go.open() }
}

describe('the notification run for a nested background task', () => {
  it.each(namesOfPlaces)('S139: runs once, in the session of the subagent that started the task, over a %s store', async (name) => {
    const [store] = placeOf(name)
    const { runtime, key, middle, leafEnds, faults } = await threeDeep(store)
    leafEnds()
    expect(await nthRun(store, 2, key)).toMatchObject({ kind: 'notification', status: 'completed' })
    expect((await eventsOf(middle, 'runtime-input')).map(({ source }) => source)).toEqual(['notify'])
    expect(await store.readInbox(key, ['child-settled'])).toEqual([])
    await runtime.sweep()
    expect((await runsIn(store, root, key)).map(({ kind }) => kind)).toEqual(['user', 'child', 'notification'])
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S146, S135: adds its cost to all sessions above, once', async () => {
    const store = memoryStore()
    const { runtime, session, key, leafEnds } = await threeDeep(store)
    const tokens = async () => (await session.usage()).children.usage.totalTokens ?? 0
    const before = await tokens()
    leafEnds()
    const { usage: told } = await nthRun(store, 2, key)
    const [leaf] = await childrenOf(store, key)
    expect(told.totalTokens).toBeGreaterThan(0)
    expect((await tokens()) - before).toBe((told.totalTokens ?? 0) + (leaf?.usage.totalTokens ?? 0))
    await runtime.stop()
  })

  it('S94: asks in the log of the root and is answered there, and so does a subagent that it starts', async () => {
    const store = memoryStore()
    const sent: string[] = []
    const deep = helper('deep', [{ toolCalls: [callTo('d', 'send')] }, last], {
      tools: [guarded('send', () => (sent.push('deep'), 'sent'))],
    })
    const go = gate()
    const leaf = helper('leaf', async () => (await go.passed, { text: 'the leaf' }))
    const { runtime, session, key } = await (async () => {
      const mid = helper(
        'mid',
        [{ toolCalls: [launch('l', 'leaf')] }, last, { toolCalls: [callTo('s', 'send'), handOver('h', 'deep')] }, last],
        {
          subagents: [leaf, deep],
          tools: [guarded('send', () => (sent.push('mid'), 'sent'))],
        },
      )
      const made = await team([{ toolCalls: [handOver('m', 'mid')] }, last], { store, subagents: [mid] })
      await (await made.session.send('go')).result()
      return { ...made, key: (await childrenOf(store))[0]?.session ?? '' }
    })()
    go.open()
    const asked = await found(store, async () => {
      const events = (await logOf(session)).flatMap((event) => (event.type === 'approval-requested' ? [event] : []))
      return events.length === 2 ? events : undefined
    })
    expect(asked).toMatchObject([
      { path: ['m'], agent: ['mid'] },
      { path: ['m', 'h'], agent: ['mid', 'deep'] },
    ])
    for (const { approvalId } of asked) await session.approve(approvalId)
    expect(await nthRun(store, 2, key)).toMatchObject({ status: 'completed' })
    expect(sent.toSorted()).toEqual(['deep', 'mid'])
    expect((await childrenOf(store, key)).map(({ parent }) => [parent?.path, parent?.root, parent?.rootAgent])).toEqual([
      [['mid', 'leaf'], root, 'assistant'],
      [['mid', 'deep'], root, 'assistant'],
    ])
    await runtime.stop()
  })

  it('S25: a follow-up of a subagent is executed by that subagent', async () => {
    const store = memoryStore()
    let asked = false
    const again = defineExtension({
      name: 'again',
      hooks: { onStepEnd: (_event, { followUp }) => (asked ? undefined : ((asked = true), void followUp('and then?'))) },
    })
    const mid = helper('mid', [{ text: 'first' }, { text: 'second' }], { extensions: [again] })
    const { runtime, session } = await team([{ toolCalls: [handOver('m', 'mid')] }, last], { store, subagents: [mid] })
    await (await session.send('go')).result()
    const [child] = await childrenOf(store)
    expect(await nthRun(store, 2, child?.session ?? '')).toMatchObject({ kind: 'follow-up', status: 'completed' })
    await runtime.stop()
  })

  it('S98: is stopped by a stop of the root run', async () => {
    const store = memoryStore()
    const rootGo = gate()
    const leaf = helper('leaf', [{ text: 'the leaf' }])
    const told = gate()
    const mid = helper(
      'mid',
      async ({ abortSignal }, index) => {
        if (index === 0) return { toolCalls: [launch('l', 'leaf')] }
        if (index === 1) return last
        told.open()
        await new Promise((resolve) => abortSignal?.addEventListener('abort', resolve))
        return { text: 'too late' }
      },
      { subagents: [leaf] },
    )
    const { runtime, session } = await team(
      async (_call, index) => (index === 0 ? { toolCalls: [launch('m', 'mid')] } : (await rootGo.passed, last)),
      { store, subagents: [mid] },
    )
    const run = await session.send('go')
    await told.passed
    await session.stop({ runId: run.runId, waitMs: 0 })
    const [child] = await childrenOf(store)
    const runs = await runsIn(store, child?.session ?? '')
    const notified = runs.at(-1)
    expect((await endOf(store, notified?.id ?? '')).status).toBe('aborted')
    rootGo.open()
    await runtime.stop()
  })
})

describe('a notification run that fails', () => {
  const failing = (hook: 'beforeAgentStart' | 'onTurnStart'): Partial<AgentOptions> => {
    let turns = 0
    const fail = (): undefined => {
      turns += 1
      if (turns === 2) throw new Error('no')
    }
    return { extensions: [defineExtension({ name: 'failing', onError: 'fail', hooks: { [hook]: fail } })] }
  }

  /** Launches one background task, which the second turn of the root is to report. */
  async function launched(store: SessionStore, agent: Partial<AgentOptions>, options: Partial<SetupOptions> = {}) {
    const go = gate()
    const scout = helper('scout', async () => (await go.passed, { text: 'found' }))
    const made = await team((_call, index) => (index === 0 ? { toolCalls: [launch('d', 'scout')] } : { text: `answer ${index}` }), {
      store,
      subagents: [scout],
      agent,
      ...options,
    })
    await (await made.session.send('go')).result()
    return { ...made, scoutEnds: () => go.open() }
  }

  it.each(namesOfPlaces.flatMap((name) => (['beforeAgentStart', 'onTurnStart'] as const).map((hook) => [hook, name] as const)))(
    'S203, S140: in %s removes its inbox rows from a %s store, is logged, and is not made again',
    async (hook, name) => {
      const [store] = placeOf(name)
      const { runtime, session, scoutEnds } = await launched(store, failing(hook))
      scoutEnds()
      const ended = await nthRun(store, 2)
      expect(ended).toMatchObject({ kind: 'notification', status: 'error' })
      await runtime.sweep()
      expect((await runsIn(store, root)).map(({ kind }) => kind)).toEqual(['user', 'notification'])
      expect(await store.readInbox(root, ['child-settled'])).toEqual([])
      const log = await checkLog(session)
      const task = (await childrenOf(store))[0]?.parent?.taskId ?? ''
      expect(log.filter((event) => event.type === 'error' && event.source === 'reminder')).toMatchObject([
        { runId: ended.id, message: expect.stringContaining(task) as string },
      ])
      expect(await remindersIn(session)).toEqual([])
      expect(await (await session.send('and now?')).result()).toMatchObject({ status: 'completed', text: 'answer 2' })
      await runtime.stop()
    },
  )

  it.each(namesOfPlaces)('S203: because its agent is gone removes its inbox rows from a %s store', async (name) => {
    const [store, later] = placeOf(name)
    if (name === 'memory') await store.open({ namespace: 'default', clock: systemClock, owner: 'keeper' })
    const first = await threeDeep(store)
    await first.runtime.stop()
    // The agents still exist, but at another place in the tree.
    const moved = helper('other', [], { subagents: [helper('mid', []), helper('leaf', [])] })
    const again = name === 'memory' ? store : later()
    const { runtime } = await team([], { store: again, subagents: [moved] })
    const end = await nthRun(again, 2, first.key)
    expect(end).toMatchObject({ kind: 'notification', status: 'error', error: { code: 'definition-changed' } })
    await runtime.sweep()
    expect((await runsIn(again, first.key)).map(({ kind }) => kind)).toEqual(['child', 'notification'])
    expect(await eventsOf(runtime.reader(first.key), 'error')).toMatchObject([{ source: 'reminder', runId: end.id }])
    await runtime.stop()
  })

  it('S62, S203: because it loses its process again and again is given up, and its inbox rows are removed', async () => {
    const store = memoryStore()
    const clock = manualClock()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const reached = gate()
    const never = new Promise<never>(() => undefined)
    const aroundRun: SetupOptions['aroundRun'] = (run, execute) => (run.kind === 'notification' ? (reached.open(), never) : execute())
    const first = await launched(store, {}, { clock, aroundRun })
    first.scoutEnds()
    await reached.passed
    const stopping = first.runtime.stop({ graceMs: 1 })
    await clock.advance(1)
    await stopping
    for (const waitMs of [0, 1_000, 2_000]) {
      await clock.advance(waitMs)
      expect(await store.claim({ owner: `dead after ${waitMs}`, max: 1, leaseMs: 0, agents: ['assistant'], holds: [] })).toHaveLength(1)
    }
    const second = await team([], { store, clock, subagents: [helper('scout', [])], attempts: { withoutProgress: 2 } })
    await clock.advance(30_000)
    expect((await runsIn(store, root)).map(({ kind, status, reason }) => [kind, status, reason])).toEqual([
      ['user', 'completed', 'stop'],
      ['notification', 'error', 'crash-loop'],
    ])
    expect(await eventsOf(second.session, 'error')).toMatchObject([{ source: 'reminder' }])
    expect(await store.readInbox(root, ['child-settled'])).toEqual([])
    await second.runtime.stop()
  })

  it.each(['stop', 'interrupt'] as const)('S203, S102: because the caller uses %s before it begins is not made again', async (how) => {
    const store = memoryStore()
    const elsewhere = gate()
    const { runtime, session, scoutEnds } = await launched(
      store,
      {},
      {
        concurrency: 1,
        aroundRun: async (run, execute) => {
          if (run.session === 'room:2') await elsewhere.passed
          return execute()
        },
      },
    )
    const other = await runtime.session('room:2').send('go')
    scoutEnds()
    const told = await found(store, async () => (await runsIn(store, root)).find(({ kind }) => kind === 'notification'))
    expect(told).toMatchObject({ status: 'queued' })
    if (how === 'stop') expect(await session.stop({ runId: told.id })).toMatchObject({ state: 'settled' })
    const next = how === 'interrupt' ? await session.send('and now?', { onBusy: 'interrupt' }) : undefined
    elsewhere.open()
    await other.result()
    await next?.result()
    await endOf(store, told.id)
    await runtime.sweep()
    expect((await runsIn(store, root)).filter(({ kind }) => kind === 'notification')).toMatchObject([{ status: 'aborted' }])
    expect(await eventsOf(session, 'error')).toHaveLength(how === 'stop' ? 1 : 0)
    expect(await remindersIn(session)).toHaveLength(how === 'stop' ? 0 : 1)
    expect(await store.readInbox(root, ['child-settled'])).toEqual([])
    await runtime.stop()
  })
})
