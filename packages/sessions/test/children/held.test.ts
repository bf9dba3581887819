import { defineExtension, emptyView, reduceEvents, type AgentOptions } from '@bowline/agent-loop'
import type { LoggedEvent, RunRecord, Session, SessionStore } from '@bowline/sessions'
import type { Script } from '@bowline/llm/testing'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { checkLog, collect, gate, logOf } from '../support.ts'
import { callTo, childrenOf, endOf, found, handOver, helper, launch, remote, team } from './support.ts'

const placeOf = placesOfStores()
const says = async () => ({ text: 'done' })
const kinds = ['blocking', 'background'] as const
type Kind = (typeof kinds)[number]

type HeldEvent = Extract<LoggedEvent, { type: 'error' }>

/** Returns the only subagent in the view of a session. */
async function shownIn(store: SessionStore, key: string) {
  const { children } = (await store.readEvents(key, 0, 1000)).events.reduce(reduceEvents, emptyView)
  expect(children).toHaveLength(1)
  return children[0]
}

async function heldEvents(session: Session): Promise<readonly HeldEvent[]> {
  return (await logOf(session)).filter((event): event is HeldEvent => event.type === 'error' && event.source === 'definition')
}

/** Starts a tree: the root delegates to `mid`, which delegates to `leaf`, which waits for an answer when its process ends. */
async function begin(store: SessionStore, kind: Kind): Promise<RunRecord> {
  const leaf = helper('leaf', [{ toolCalls: [callTo('w', 'where')] }], { tools: [remote('where')] })
  const mid = helper(
    'mid',
    [{ toolCalls: [kind === 'blocking' ? handOver('l', 'leaf') : launch('l', 'leaf')] }, { text: 'launched' }].slice(
      0,
      kind === 'blocking' ? 1 : 2,
    ),
    { subagents: [leaf] },
  )
  const steps = kind === 'blocking' ? [{ toolCalls: [handOver('m', 'mid')] }] : [{ toolCalls: [handOver('m', 'mid')] }, { text: 'over' }]
  const { runtime, session } = await team(steps, { store, subagents: [mid] })
  await (await session.send('go')).result()
  const [child] = await childrenOf(store)
  const run = await found(store, async () => (await childrenOf(store, child?.session)).find(({ status }) => status === 'awaiting-tools'))
  await runtime.stop()
  return run
}

/** Creates a process with other instructions for `leaf` that holds runs of another definition. */
function changed(store: SessionStore, mid: Partial<AgentOptions> = {}, steps: Script = says) {
  const leaf = helper('leaf', steps, { tools: [remote('where')], instructions: 'Look twice.' })
  return team(says, { store, subagents: [helper('mid', says, { subagents: [leaf], ...mid })], onDefinitionChange: 'refuse' })
}

/** Answers the question of `leaf`, so that its run is queued and then held because of its definition. */
async function held(store: SessionStore, run: RunRecord, steps?: Script) {
  const made = await changed(store, {}, steps)
  await made.session.submitToolResults([{ toolCallId: 'w', path: ['m', 'l'], output: 'Oslo' }])
  await endOf(store, run.id, 'needs-recovery')
  return made
}

describe.each(kinds)('a run of a %s subagent, three levels deep, that is held because its definition changed', (kind) => {
  it.each(namesOfPlaces)('S82, S112, S202: is named at the root and resumed there by recover, over a %s store', async (name) => {
    const [store, later] = placeOf(name)
    const run = await begin(store, kind)
    const again = later()
    const { runtime, session, faults } = await held(again, run)
    const message = 'The definition of the agent has changed: the instructions.'
    expect(await heldEvents(session)).toMatchObject([{ runId: run.id, path: ['m', 'l'], agent: ['mid', 'leaf'], message, fatal: false }])
    if (kind === 'blocking') {
      const heldRuns = [{ runId: run.id, agent: ['mid', 'leaf'], message }]
      const info = await found(again, async () => ((await session.info())?.openRun?.heldRuns ? session.info() : undefined))
      expect(info?.openRun).toMatchObject({ heldRuns })
      expect((await session.runs()).items).toMatchObject([{ heldRuns }])
    }
    const handle = await session.recover(run.id, 'continue')
    expect(await handle.result()).toMatchObject({ status: 'completed' })
    expect(handle.runId).toBe((await session.runs()).items[0]?.runId)
    expect(await endOf(again, run.id)).toMatchObject({ status: 'completed' })
    expect(await session.recover(run.id, 'continue')).toMatchObject({ runId: handle.runId })
    expect((await session.runs()).items[0]).not.toHaveProperty('heldRuns')
    await checkLog(session)
    expect(faults).toEqual([])
    await runtime.stop()
  })

  it('S215: appears as held in the session that started it, and as running again after recover', async () => {
    const store = memoryStore()
    const run = await begin(store, kind)
    const after = store.second()
    const go = gate()
    const { runtime, session } = await held(after, run, async () => (await go.passed, { text: 'done' }))
    const above = run.parent?.session ?? ''
    expect(await shownIn(after, above)).toMatchObject({
      status: 'needs-recovery',
      outcome: 'needs-recovery',
      step: 1,
      toolNames: ['where'],
    })
    if (kind === 'blocking') {
      const root = await found(after, async () => ((await session.info())?.openRun?.heldRuns ? shownIn(after, session.key) : undefined))
      expect(root).toMatchObject({ status: 'waiting-for-subagent', outcome: 'awaiting-subagent' })
    }
    await session.recover(run.id, 'continue')
    const again = await found(after, async () => {
      const child = await shownIn(after, above)
      return child?.status === 'running' ? child : undefined
    })
    expect(again).toMatchObject({ step: 1, toolNames: ['where'] })
    expect(again).not.toHaveProperty('outcome')
    go.open()
    await endOf(after, run.id)
    expect(await shownIn(after, above)).toMatchObject({ status: 'completed', step: 2, text: 'done' })
    await runtime.stop()
  })

  it('S82, S112: ends if recover is called with stop, and the run that waits for it goes on', async () => {
    const store = memoryStore()
    const run = await begin(store, kind)
    const { runtime, session } = await held(store.second(), run)
    expect(await (await session.recover(run.id, 'stop')).result()).toMatchObject({ status: 'completed' })
    expect(await endOf(runtime.store, run.id)).toMatchObject({ status: 'aborted' })
    await checkLog(session)
    await runtime.stop()
  })

  it('S98, S82: ends with a stop or a kill of the root', async () => {
    const store = memoryStore()
    const run = await begin(store, kind)
    const { runtime, session } = await held(store.second(), run)
    const [first] = (await session.runs()).items
    if (kind === 'blocking') expect(await session.stop()).toMatchObject({ state: 'settled', status: 'stopped' })
    else await session.kill()
    expect(await endOf(runtime.store, run.id)).toMatchObject({ status: 'aborted' })
    expect((await runtime.run(first?.runId ?? ''))?.heldRuns).toBeUndefined()
    await runtime.stop()
  })

  it('S112: cannot be recovered from another session', async () => {
    const store = memoryStore()
    const run = await begin(store, kind)
    const { runtime } = await held(store.second(), run)
    const other = runtime.session('room:10')
    await other.open()
    await expect(other.recover(run.id, 'continue')).rejects.toMatchObject({ code: 'unknown-run' })
    expect(await runtime.run(run.id)).toMatchObject({ status: 'needs-recovery' })
    await runtime.stop()
  })
})

it('S82, S112, V5: a run that waits for a held run settles its result, ends its readers, and is not counted as left by a drain', async () => {
  const store = memoryStore()
  const run = await begin(store, 'blocking')
  const { runtime, session } = await changed(store.second())
  const { run: handle } = await session.submitToolResults([{ toolCallId: 'w', path: ['m', 'l'], output: 'Oslo' }])
  const seen = collect(handle.events())
  expect(await handle.result()).toMatchObject({
    status: 'awaiting-subagent',
    pendingToolCalls: [],
    heldRuns: [{ runId: run.id, agent: ['mid', 'leaf'] }],
  })
  await seen
  expect(await runtime.drain()).toMatchObject({ left: 0 })
  await session.recover(run.id, 'continue')
  expect(await handle.result()).toMatchObject({ status: 'completed' })
  await runtime.stop()
})

it('S82, S112: a follow-up run in the session of a subagent is named and recovered at the root', async () => {
  const store = memoryStore()
  const asks = { tools: [remote('where')] }
  let isAsked = false
  const again = defineExtension({
    name: 'again',
    hooks: { onStepEnd: (_event, { followUp }) => (isAsked ? undefined : ((isAsked = true), void followUp('and then?'))) },
  })
  const mid = helper('mid', [{ text: 'first' }, { toolCalls: [callTo('w', 'where')] }], { ...asks, extensions: [again] })
  const first = await team([{ toolCalls: [handOver('m', 'mid')] }, { text: 'over' }], { store, subagents: [mid] })
  await (await first.session.send('go')).result()
  const key = (await childrenOf(store))[0]?.session ?? ''
  const run = await found(store, async () => (await store.listRuns(key)).items.find(({ status }) => status === 'awaiting-tools'))
  await first.runtime.stop()
  const after = store.second()
  const { runtime, session } = await team(says, {
    store: after,
    subagents: [helper('mid', says, { ...asks, instructions: 'Look twice.' })],
    onDefinitionChange: 'refuse',
  })
  await session.submitToolResults([{ toolCallId: 'w', path: ['m'], output: 'Oslo' }])
  await endOf(after, run.id, 'needs-recovery')
  expect(await heldEvents(session)).toMatchObject([{ runId: run.id, agent: ['mid'], path: ['m'] }])
  await session.recover(run.id, 'continue')
  expect(await endOf(after, run.id)).toMatchObject({ kind: 'follow-up', status: 'completed' })
  await checkLog(session)
  await runtime.stop()
})
