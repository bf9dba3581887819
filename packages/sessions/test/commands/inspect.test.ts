import { defineTool } from '@bowline/agent-loop'
import { manualClock } from '@bowline/llm/testing'
import { createRuntime, inspectSession, type Inspection, type SessionStore } from '@bowline/sessions'
import { faultyStore } from '@bowline/testing/crashes'
import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { callTo, guarded, handOver, helper, remote, root, team } from '../children/support.ts'
import { namesOfPlaces, placesOfStores } from '../stores/places.ts'
import { postgresPlace } from '../../../postgres/test/place.ts'
import { gate, setup, type SetupOptions } from '../support.ts'

const start = Date.UTC(2026, 10, 26, 12)
const isoStart = '2026-11-26T12:00:0'
const none = z.object({})

function tool(name: string, effect: 'pure' | 'idempotent' | 'once', execute: () => unknown = () => 'done') {
  return defineTool({ name, description: name, inputSchema: none, effect, execute: () => execute() as string })
}

const never = (reached: () => void) => () => new Promise<string>(() => reached())

describe.each([...namesOfPlaces, 'postgres'] as const)('inspect over %s', (kind) => {
  const placeOf = placesOfStores()
  const postgres = kind === 'postgres' ? postgresPlace() : undefined
  afterEach(async () => postgres?.clear())

  /** Returns a store for a process that dies, and a function that opens the store for the next process. */
  function places(clock: ReturnType<typeof manualClock>): readonly [SessionStore, () => SessionStore] {
    if (!postgres) return placeOf(kind as (typeof namesOfPlaces)[number])
    return [postgres.store({ ...postgres.shared(false), clock }), () => postgres.store({ ...postgres.shared(false), clock })]
  }

  /** Runs until `reached`, then leaves the store as a process does that was killed with SIGKILL. */
  async function killed(options: SetupOptions, reached: Promise<void>, clock = manualClock(start)) {
    const [store, later] = places(clock)
    let dead = false
    const dying = faultyStore(store, [{ of: 'any', when: () => dead, fault: { error: new Error('dead') } }])
    const { runtime } = setup({ clock, store: dying, onError: () => undefined, ...options })
    await runtime.start()
    const run = await runtime.session(root).send('go', { id: 'first' })
    await reached
    dead = true
    const stopping = runtime.stop({ graceMs: 0 })
    await clock.advance(10_001)
    await stopping.catch(() => undefined)
    await store.close()
    return { clock, run, later, owner: runtime.id }
  }

  async function look(later: () => SessionStore, clock: ReturnType<typeof manualClock>): Promise<Inspection> {
    const store = later()
    await store.open({ namespace: 'default', clock, owner: 'looker' })
    try {
      const found = await inspectSession(store, root, clock.now())
      if (!found) throw new Error('There is no session.')
      return found
    } finally {
      await store.close()
    }
  }

  it('S214: for a run whose process was killed: who held it until when, and how a resume treats each of its calls', async () => {
    const names = ['quick', 'read', 'put', 'pay'] as const
    const started = names.slice(1).map(() => gate())
    const tools = [
      tool('quick', 'once'),
      ...(['pure', 'idempotent', 'once'] as const).map((effect, place) =>
        tool(
          names[place + 1] ?? '',
          effect,
          never(() => started[place]?.open()),
        ),
      ),
    ]
    const [first] = names
    const quickThenSlow = [
      { toolCalls: [callTo('c-quick', first)] },
      { toolCalls: names.slice(1).map((name) => callTo(`c-${name}`, name)) },
    ]
    const { clock, run, later, owner } = await killed(
      { steps: quickThenSlow, tools },
      Promise.all(started.map(({ passed }) => passed)).then(() => undefined),
    )
    const { at, session, committed, open } = await look(later, clock)
    expect(at).toBe(start + 10_001)
    expect(session).toMatchObject({ key: root, status: 'running', queued: 0 })
    expect(committed).toMatchObject({ turns: 1, events: { first: 1 }, runs: { accepted: 1, ended: [] } })
    expect(committed.branches).toMatchObject([{ leaf: session.leaf }])
    const [found] = open.runs
    expect(open.runs).toHaveLength(1)
    expect(found).toMatchObject({
      runId: run.runId,
      status: 'running',
      inputId: 'first',
      epoch: 1,
      turn: 1,
      step: 2,
      settledBefore: 1,
      children: [],
    })
    expect(found?.holder).toMatchObject({ owner: expect.stringContaining(owner) as string, leaseUntil: start + 10_000, isOver: true })
    expect(found?.next).toContain('Its process is gone')
    expect(found?.next).toContain(
      kind === 'postgres' ? 'a process that has the agent takes it up' : 'the next process that opens the store takes it up',
    )
    const calls = found?.calls ?? []
    expect(calls.map(({ toolCallId, effect, state, resume }) => [toolCallId, effect, state, resume])).toEqual([
      ['c-read', 'pure', 'started', 'runs-again'],
      ['c-put', 'idempotent', 'started', 'runs-again'],
      ['c-pay', 'once', 'started', 'asks-tool'],
    ])
    expect(calls[1]?.next).toBe(`It is idempotent: it runs again under the key ${calls[1]?.idempotencyKey}.`)
    expect(calls[2]?.next).toMatch(/reconcile.*onUnknownOutcome.*The store does not know/)
  })

  it('S214: for a run that needs recovery: the doubtful call, the remote call, the settled calls, and the run after it', async () => {
    const started = gate()
    const tools = [tool('quick', 'pure'), tool('pay', 'once', never(started.open)), remote('place')]
    const steps = [{ toolCalls: [callTo('c-quick', 'quick'), callTo('c-pay', 'pay'), callTo('c-place', 'place')] }]
    const { clock, run, later } = await killed({ steps, tools }, started.passed)
    const second = setup({ clock, store: later(), steps: [], tools })
    await second.runtime.start()
    const session = second.runtime.session(root)
    for await (const _ of session.events({ runId: run.runId })) continue
    const behind = await session.send('and then?')
    const found = await second.runtime.inspect(root)
    await session.submitToolResults([{ toolCallId: 'c-place', output: 'Oslo' }])
    const answered = await second.runtime.inspect(root)
    await second.runtime.stop()
    expect(await look(later, clock)).toEqual({ ...answered, at: clock.now() })
    expect(found?.open.runs.map(({ status, next }) => [status, next])).toEqual([
      ['needs-recovery', 'It goes on when resolveTool says what became of c-pay.'],
      ['queued', `It waits behind the run ${run.runId}.`],
    ])
    expect(found?.open.runs[1]?.runId).toBe(behind.runId)
    expect(found?.open.runs[0]?.calls.map(({ toolCallId, resume }) => [toolCallId, resume])).toEqual([
      ['c-quick', 'nothing'],
      ['c-pay', 'waits-for-recovery'],
      ['c-place', 'waits-for-result'],
    ])
    expect(found?.open.runs[0]?.calls.map(({ next }) => next)).toEqual([
      'Settled (result): it never runs again.',
      'Its effect may or may not have happened: it waits for resolveTool of c-pay.',
      'It waits for submitToolResults with c-place.',
    ])
    expect(answered?.open.runs[0]?.calls[2]).toMatchObject({ resume: 'takes-answer' })
    expect(answered?.open.inbox).toMatchObject([{ kind: 'answer', runId: run.runId }])
    expect(found?.open.runs[0]?.holder).toBeUndefined()
  })

  it('S214: for a run whose subagent waits for an approval: the question, the subagent, and its call', async () => {
    const clock = manualClock(start)
    const [store, later] = places(clock)
    const scout = helper('scout', [{ toolCalls: [callTo('s', 'send')] }, { text: 'sent' }], { tools: [guarded('send')] })
    const { runtime, session } = await team([{ toolCalls: [handOver('d', 'scout')] }, { text: 'done' }], {
      store,
      clock,
      subagents: [scout],
    })
    const { pendingApprovals } = await (await session.send('go')).result()
    const approvalId = pendingApprovals[0]?.approvalId ?? ''
    await runtime.stop()
    const { open } = await look(later, clock)
    const [run] = open.runs
    expect(run).toMatchObject({
      status: 'waiting-for-user',
      pendingApprovals: [{ approvalId, toolCallId: 's', path: ['d'], agent: ['scout'] }],
    })
    const childSession = run?.children[0]?.session
    expect(run?.calls).toMatchObject([
      {
        toolCallId: 'd',
        resume: 'waits-for-subagent',
        childSession,
        next: `Its subagent in the session ${childSession} goes on: nothing starts anew.`,
      },
    ])
    expect(run?.children).toMatchObject([
      {
        kind: 'child',
        parent: run?.runId,
        status: 'waiting-for-user',
        calls: [{ toolCallId: 's', resume: 'waits-for-approval', approvalId, next: `It waits for approve or deny of ${approvalId}.` }],
      },
    ])
  })

  it('S214: for a retry that waits: when the model is called again, while the process holds the run and after it gave it back', async () => {
    const clock = manualClock(start)
    const [store, later] = places(clock)
    const busy = { error: Object.assign(new Error('Rate limit reached'), { statusCode: 429 }) }
    const { runtime } = setup({ store, clock, steps: [busy], agent: { retry: { jitter: 0, baseDelayMs: 8_000, maxDelayMs: 8_000 } } })
    await runtime.start()
    const session = runtime.session(root)
    await session.send('go')
    for await (const event of session.events()) if (event.type === 'retry-start') break
    const held = await runtime.inspect(root)
    expect(held?.open.runs).toMatchObject([
      { status: 'waiting-for-retry', notBefore: start + 8_000, holder: { isOver: false, leaseUntil: start + 10_000 } },
    ])
    expect(held?.open.runs[0]?.next).toContain(`The model is called again at ${isoStart}8.000Z.`)
    await runtime.stop()
    const { open } = await look(later, clock)
    expect(open.runs).toMatchObject([
      { status: 'waiting-for-retry', notBefore: start + 8_000, next: `A process continues its turn at ${isoStart}8.000Z.` },
    ])
    expect(open.runs[0]).not.toHaveProperty('holder')
  })

  it('S214: lists schedules (paused ones too) and deadlines, also for a session without a run; returns null without a session', async () => {
    const clock = manualClock(start)
    const [store, later] = places(clock)
    const asks = defineTool({ name: 'place', description: 'place', inputSchema: none, timeoutMs: 5_000 })
    const { runtime } = setup({ store, clock, steps: [{ toolCalls: [callTo('c', 'place')] }], tools: [asks] })
    await runtime.start()
    const session = runtime.session(root)
    await session.schedule({ id: 'news', every: 60_000, input: 'What is new?' })
    await session.schedule({ id: 'check', every: 60_000, input: 'Is all well?' })
    await session.schedules.pause('check')
    expect(await runtime.inspect(root)).toMatchObject({
      session: { key: root },
      committed: { turns: 0, runs: { accepted: 0, ended: [] }, branches: [] },
      open: { runs: [], inbox: [], deadlines: [] },
    })
    expect(await runtime.inspect('room:2')).toBeNull()
    const { runId } = await session.send('go')
    for await (const _ of session.events({ runId })) continue
    await runtime.stop()
    const { open } = await look(later, clock)
    expect(open.schedules).toMatchObject([
      { id: 'check', status: 'paused', nextAt: null },
      { id: 'news', status: 'active', nextAt: start + 60_000 },
    ])
    expect(open.deadlines).toEqual([{ runId, dueAt: start + 5_000 }])
    expect(open.runs[0]?.calls[0]).toMatchObject({
      resume: 'waits-for-result',
      next: `It waits for submitToolResults with c until ${isoStart}5.000Z.`,
    })
    await clock.advance(5_000)
    expect((await look(later, clock)).open.runs[0]?.calls[0]).toMatchObject({
      resume: 'takes-answer',
      next: `No result came before ${isoStart}5.000Z: the model is told so.`,
    })
  })

  it('S214: writes nothing and claims nothing', async () => {
    const started = gate()
    const { clock, later } = await killed(
      { steps: [{ toolCalls: [callTo('c', 'pay')] }], tools: [tool('pay', 'once', never(started.open))] },
      started.passed,
    )
    const before = await look(later, clock)
    expect(await look(later, clock)).toEqual(before)
    const calls: string[] = []
    const store = later()
    await store.open({ namespace: 'default', clock, owner: 'looker' })
    const watched = new Proxy(store, { get: (target, name) => (calls.push(String(name)), Reflect.get(target, name) as unknown) })
    await inspectSession(watched, root, clock.now())
    await store.close()
    expect(new Set(calls)).toEqual(
      new Set(['readSession', 'listRuns', 'readInbox', 'listTimers', 'listBranches', 'readCalls', 'listChildren', 'capabilities']),
    )
  })
})

it('S214: inspect refuses an invalid key', async () => {
  const runtime = createRuntime({ agents: [helper('one', [])] })
  await expect(runtime.inspect('a b')).rejects.toMatchObject({ code: 'invalid-key' })
  await runtime.stop()
})
