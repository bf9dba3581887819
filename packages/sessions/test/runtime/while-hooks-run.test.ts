import { defineExtension, type Hooks } from '@bowline/agent-loop'
import { createModels } from '@bowline/llm'
import { manualClock, scriptedModel, type Step } from '@bowline/llm/testing'
import { inspectSession, type Session } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import { describe, expect, it } from 'vitest'
import { callTo, childrenOf, endOf, found, handOver, helper, launch, remote, team } from '../children/support.ts'
import { accepted, RecordedProcesses } from '../history/recorded-runs.ts'
import { checkLog, gate, setup, type SetupOptions } from '../support.ts'

const watch = (hooks: Hooks) => ({ extensions: [defineExtension({ name: 'watch', timeoutMs: 60_000, hooks })] })

/** Extension whose hook waits the first time. */
function held(name: 'onAgentEnd' | 'onSettled' | 'afterCompaction') {
  const hook = gate()
  let hooked = 0
  const extension = defineExtension({
    name: 'watch',
    timeoutMs: 60_000,
    hooks: { [name]: () => (hooked++ === 0 ? hook.passed : undefined) },
  })
  return { hook, agent: { extensions: [extension] } }
}

async function started(options: SetupOptions) {
  const made = setup(options)
  await made.runtime.start()
  return { ...made, session: made.runtime.session('room:1') }
}

/** Resolves when the log of the session has an event of this type. */
async function reached(session: Session, type: string): Promise<void> {
  for await (const event of session.events()) if (event.type === type) return
}

/** Options of an agent with a small context window, so that its first turn is followed by a compaction. */
function compacting(steps: readonly Step[]) {
  const model = scriptedModel(steps)
  const models = createModels({ providers: { test: { languageModel: () => model } }, models: { 'test:small': { contextWindow: 10_000 } } })
  return {
    model: 'test:small',
    models,
    compaction: { reserveTokens: 1_000, keepRecentTokens: 50 },
    runtimeParams: { maxTokens: 500 },
  } as const
}

const long = `FIRST ${'x'.repeat(400)}`
const full: Step = { text: 'a'.repeat(400), usage: { input: 9_100, output: 1 } }

describe('commands while the hooks after a turn run', () => {
  it('S94, S115: an answer to a question of a subagent removes the question above', async () => {
    const store = memoryStore()
    const [hook, goOn] = [gate(), gate()]
    let hooked = 0
    const scout = helper(
      'scout',
      async (_call, index) => (index === 0 ? { toolCalls: [callTo('w', 'where')] } : (await goOn.passed, { text: 'scouted' })),
      { tools: [remote('where')] },
    )
    const agent = watch({ onAgentEnd: ({ status }) => (status === 'awaiting-tools' && hooked++ === 0 ? hook.passed : undefined) })
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }], {
      store,
      subagents: [scout],
      agent,
    })
    const run = await session.send('go')
    await found(store, async () => ((await session.info())?.openRun?.pendingToolCalls.length === 1 ? true : undefined))
    await session.submitToolResults([{ toolCallId: 'w', path: ['d'], output: 'Oslo' }])
    expect(await session.info()).toMatchObject({ status: 'waiting-for-subagent', openRun: { pendingToolCalls: [] } })
    hook.open()
    await endOf(store, run.runId, 'awaiting-subagent')
    expect((await session.info())?.openRun?.pendingToolCalls).toEqual([])
    goOn.open()
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'done' })
    await runtime.stop()
  })

  it('S17, S115: steering becomes a follow-up, because the turn has ended', async () => {
    const { hook, agent } = held('onSettled')
    const { runtime, session } = await started({ steps: [{ text: 'one' }, { text: 'two' }], agent })
    const first = await session.send('go')
    await reached(session, 'settled')
    const steered = await session.send('and', { onBusy: 'steer' })
    expect(steered.accepted).toBe('queued')
    hook.open()
    expect([(await first.result()).text, (await steered.result()).text]).toEqual(['one', 'two'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S19: an input that is refused on a busy session does not mind the compaction that follows the turn', async () => {
    const { hook, agent } = held('onAgentEnd')
    const { runtime, session } = await started({
      steps: [],
      agent: { ...compacting([full, { text: 'SUMMARY' }, { text: 'two' }]), ...agent },
    })
    await session.send(long)
    await reached(session, 'save-point')
    const sending = session.send('SECOND', { onBusy: 'reject' })
    hook.open()
    expect(await (await sending).result()).toMatchObject({ text: 'two' })
    await runtime.stop()
  })

  it('S215: the end of a compaction is no outcome of its session', async () => {
    const { hook, agent } = held('afterCompaction')
    const processes = new RecordedProcesses()
    const steps: Step[] = [{ text: 'a'.repeat(400) }, { text: 'half', hang: 'middle' }, { text: 'SUMMARY' }]
    const runtime = processes.start(memoryStore(), { steps: [], agent: { ...compacting(steps), ...agent } })
    await runtime.start()
    const session = runtime.session('room:1')
    await (await session.send(long)).result()
    const second = await session.send(long)
    for await (const event of session.events({ runId: second.runId })) if (event.type === 'text-delta') break
    await session.stop()
    const stopped = { status: 'stopped', outcome: 'aborted' }
    expect(await session.info()).toMatchObject(stopped)
    const compaction = session.compact()
    await reached(session, 'compaction-end')
    const info = await session.info()
    expect(info).toMatchObject(stopped)
    expect(info).not.toHaveProperty('openRun')
    await session.runs()
    hook.open()
    expect((await compaction).outcome).toBe('done')
    expect(await session.info()).toMatchObject(stopped)
    await runtime.stop()
    accepted(processes.history(), { atRest: true })
  })

  it('S106: a session that is deleted while commands wait tells so', async () => {
    const { hook, agent } = held('onSettled')
    const { runtime, session } = await started({ steps: [{ text: 'one' }], agent })
    await session.send('go')
    await reached(session, 'settled')
    const codes = [session.switchTo(null), session.compact(), session.send('x', { onBusy: 'reject' })].map((waiting) =>
      waiting.then(
        () => 'done',
        (error: { code?: string }) => error.code,
      ),
    )
    await new Promise(setImmediate)
    await session.delete()
    hook.open()
    expect(await Promise.all(codes)).toEqual(['session-deleted', 'session-deleted', 'session-deleted'])
    await runtime.stop()
  })

  it('S97, S141: a stop ends the hooks, not the background work of a turn that has ended by itself', async () => {
    const store = memoryStore()
    const goOn = gate()
    const scout = helper('scout', async () => (await goOn.passed, { text: 'found' }))
    const { agent } = held('onAgentEnd')
    const { runtime, session } = await team([{ toolCalls: [launch('d', 'scout')] }, { text: 'launched' }, { text: 'I see' }], {
      store,
      subagents: [scout],
      agent,
    })
    const run = await session.send('go')
    await reached(session, 'save-point')
    expect(await session.stop()).toMatchObject({
      runId: run.runId,
      state: 'settled',
      status: 'completed',
      children: [{ state: 'pending' }],
    })
    goOn.open()
    const [child] = await childrenOf(store)
    expect(await endOf(store, child?.id ?? '')).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S97: a stop reaches the queued run, because the turn before it has ended', async () => {
    const { hook, agent } = held('onAgentEnd')
    const { runtime, session } = await started({ steps: [{ text: 'one' }], agent })
    const first = await session.send('go')
    await reached(session, 'save-point')
    const second = await session.send('and')
    expect(await session.stop()).toMatchObject({ runId: second.runId, state: 'settled', status: 'stopped' })
    hook.open()
    expect([(await first.result()).status, (await second.result()).status]).toEqual(['completed', 'aborted'])
    await checkLog(session)
    await runtime.stop()
  })

  it('S97: neither does an interrupt', async () => {
    const store = memoryStore()
    const goOn = gate()
    const scout = helper('scout', async () => (await goOn.passed, { text: 'found' }))
    const { agent } = held('onAgentEnd')
    const { runtime, session } = await team(
      [{ toolCalls: [launch('d', 'scout')] }, { text: 'launched' }, { text: 'two' }, { text: 'I see' }],
      { store, subagents: [scout], agent },
    )
    await session.send('go')
    await reached(session, 'save-point')
    expect(await (await session.send('SECOND', { onBusy: 'interrupt' })).result()).toMatchObject({ status: 'completed', text: 'two' })
    goOn.open()
    const [child] = await childrenOf(store)
    expect(await endOf(store, child?.id ?? '')).toMatchObject({ status: 'completed' })
    await runtime.stop()
  })

  it('S55, S60: a run that its process gave back while it stored records ends as its turn ended', async () => {
    const store = memoryStore()
    const clock = manualClock()
    await store.open({ namespace: 'default', clock, owner: 'keeper' })
    const processes = new RecordedProcesses()
    const reachedLast = gate()
    const lastNeverEnds = (given: typeof store) =>
      new Proxy(given, {
        get(target, name, receiver) {
          if (name !== 'commit') return Reflect.get(target, name, receiver) as unknown
          return (batch: Parameters<typeof store.commit>[0]) => {
            if (!batch.writes.some((write) => write.op === 'run.patch' && write.patch.rest === null)) return target.commit(batch)
            reachedLast.open()
            return new Promise(() => undefined)
          }
        },
      })
    const first = processes.start(store, {
      clock,
      steps: [{ text: 'one' }],
      agent: watch({ onAgentEnd: () => undefined }),
      around: (given) => lastNeverEnds(given as typeof store),
    })
    await first.start()
    const run = await first.session('room:1').send('go')
    await reachedLast.passed
    const stopping = first.stop({ graceMs: 10 })
    await clock.advance(11)
    await stopping
    expect(await inspectSession(store, 'room:1', 0)).toMatchObject({
      session: { status: 'completed', queued: 0, openRun: { runId: run.runId, status: 'completed' } },
      open: { runs: [{ next: expect.stringContaining('the status with which its turn ended') as string }] },
    })
    const second = processes.start(store, { clock, steps: [] })
    await second.start()
    await second.session('room:1').runs()
    for await (const _event of second.session('room:1').events({ runId: run.runId })) continue
    expect(await second.run(run.runId)).toMatchObject({ status: 'completed' })
    await second.stop()
    await store.close()
    accepted(processes.history(), { atRest: true })
  })

  it('S33: a page of runs of one status is empty only if there are none', async () => {
    const hold = gate()
    const { runtime, session } = await started({ steps: [{ text: 'one' }, { parts: [{ wait: hold.passed }], text: 'two' }] })
    const first = await session.send('go')
    await first.result()
    const second = await session.send('and')
    await found(runtime.store, async () => ((await second.status()) === 'running' ? true : undefined))
    expect((await session.runs({ status: ['completed'], newestFirst: true, limit: 1 })).items).toMatchObject([{ runId: first.runId }])
    hold.open()
    await second.result()
    await runtime.stop()
  })
})
