import { memoryStateStore } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { BridgeError } from '../src/index.ts'
import type { Answer, AnswersContext, BridgeEvent, PendingInput, PromptContext, PromptResult } from '../src/index.ts'
import { aborted, answer, failureOf, never, outcomeOf, startBridge, testAgent } from './support.ts'

const approval: PendingInput = { id: 'ap_1', kind: 'approval', toolName: 'pay', input: { eur: 3 } }
const tool: PendingInput = { id: 'child/call_1', kind: 'tool', toolName: 'locate', input: {}, agent: ['writer'] }
const approve: Answer = { id: 'ap_1', decision: 'approve' }
const located: Answer = { id: 'child/call_1', output: { city: 'Bonn' } }

/** An agent that ends its turn with the pending questions and continues until all are answered. */
function turnAgent(pending: readonly PendingInput[], legs: unknown[] = []) {
  const given: Answer[] = []
  return testAgent('a', {
    onPrompt: ({ prompt, answers = [], requestId }: PromptContext) => {
      legs.push({ prompt, answers, requestId })
      given.push(...answers)
      const open = pending.filter(({ id }) => !given.some((each) => each.id === id))
      return open.length > 0 ? { text: 'wait', stopReason: 'needs_input' as const, pending: open } : answer(`done with ${given.length}`)
    },
  })
}

/** An agent that asks and takes answers while its stream is open. */
function streamAgent(pending: readonly PendingInput[], taken: Answer[] = []) {
  const all = Promise.withResolvers<void>()
  return testAgent('a', {
    onPrompt: async function* (): AsyncGenerator<BridgeEvent> {
      yield { type: 'text-delta', delta: 'before ' }
      yield { type: 'needs-input', pending }
      await all.promise
      yield { type: 'text-delta', delta: 'after' }
    },
    onAnswers: ({ answers }) => {
      taken.push(...answers)
      if (taken.length === pending.length) all.resolve()
    },
  })
}

describe('an agent that needs input while its stream is open', () => {
  it('B40: the request stays open and the session busy; it goes on with answers', async () => {
    const taken: Answer[] = []
    const { bridge, clock } = await startBridge([streamAgent([approval], taken)])
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    const seen: string[] = []
    for await (const event of run) seen.push(event.type)
    expect(seen).toEqual(['text-delta', 'needs-input'])
    expect(await run.result()).toEqual({
      ok: true,
      status: 'awaiting-approval',
      sessionId,
      agentId: 'a',
      requestId: 'r1',
      text: 'before ',
      stopReason: 'needs_input',
      pending: [approval],
    })
    expect(await bridge.request('r1', { waitMs: 10_000 })).toEqual(await run.result())
    expect(await bridge.session(sessionId)).toMatchObject({ status: 'busy', currentRequestId: 'r1' })
    expect(bridge.health().requests.inFlight).toBe(0)
    const second = bridge.prompt({ sessionId, answers: [approve] })
    const outcome = outcomeOf(await second.result())
    expect(outcome).toMatchObject({ status: 'completed', text: 'before after', requestId: 'r1' })
    expect(second.requestId).toBe('r1')
    expect(taken).toEqual([approve])
    expect(await bridge.request('r1')).toEqual(outcome)
    expect((await bridge.session(sessionId)).status).toBe('idle')
    expect(clock.pendingTimers).toBe(1)
  })

  it('B40: inactivity does not count while it waits, and the deadline does', async () => {
    const { bridge, clock } = await startBridge([streamAgent([approval])], { inactivityMs: 1000, cancelGraceMs: 100 })
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi', timeoutMs: 60_000, requestId: 'r1' })
    outcomeOf(await run.result())
    await clock.advance(59_999)
    expect(await bridge.request('r1')).toMatchObject({ status: 'awaiting-approval' })
    await clock.advance(101)
    expect(failureOf(await bridge.request('r1'))).toMatchObject({ code: 'TIMEOUT', details: { stage: 'total' } })
  })

  it('B40: after some of the answers it waits for the others', async () => {
    const taken: Answer[] = []
    const { bridge } = await startBridge([streamAgent([approval, tool], taken)])
    const { sessionId } = await bridge.createSession()
    expect(outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result()).status).toBe('awaiting-tools')
    const some = outcomeOf(await bridge.prompt({ sessionId, answers: [located] }).result())
    expect(some).toMatchObject({ status: 'awaiting-approval', pending: [approval] })
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result()).status).toBe('completed')
    expect(taken).toEqual([located, approve])
  })

  it('B41: answers that the open stream does not accept come with the next prompt', async () => {
    const legs: unknown[] = []
    const end = Promise.withResolvers<void>()
    const onPrompt = async function* ({ answers }: PromptContext): AsyncGenerator<BridgeEvent> {
      legs.push(answers)
      if (answers) {
        yield { type: 'result', result: answer('done') }
        return
      }
      yield { type: 'needs-input', pending: [approval] }
      await end.promise
      yield { type: 'result', result: { text: '', stopReason: 'needs_input', pending: [approval] } }
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })])
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
    const answered = bridge.prompt({ sessionId, answers: [approve] })
    await clock.advance(0)
    expect(legs).toEqual([undefined])
    end.resolve()
    expect(outcomeOf(await answered.result()).text).toBe('done')
    expect(legs).toEqual([undefined, [approve]])
  })
})

describe('an agent whose turn ends with pending calls', () => {
  it('B41: answers start the next attempt under the same request id', async () => {
    const legs: unknown[] = []
    const { bridge } = await startBridge([turnAgent([approval, tool], legs)])
    const { sessionId } = await bridge.createSession()
    const first = bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' })
    expect(outcomeOf(await first.result())).toMatchObject({ status: 'awaiting-tools', text: 'wait', pending: [approval, tool] })
    const second = bridge.prompt({ sessionId, answers: [approve] })
    expect(outcomeOf(await second.result())).toMatchObject({ status: 'awaiting-tools', pending: [tool] })
    const third = bridge.prompt({ sessionId, answers: [located], requestId: 'r1' })
    expect(outcomeOf(await third.result())).toMatchObject({ status: 'completed', text: 'done with 2', requestId: 'r1' })
    expect(legs).toEqual([
      { prompt: 'hi', answers: [], requestId: 'r1' },
      { prompt: '', answers: [approve], requestId: 'r1' },
      { prompt: '', answers: [located], requestId: 'r1' },
    ])
  })

  it('B41: a delegation waits with its session open, and closes it after the last attempt', async () => {
    const trace: string[] = []
    const agent = { ...turnAgent([approval]), onSessionClose: (_session: unknown, reason: string) => void trace.push(reason) }
    const { bridge } = await startBridge([agent])
    const run = bridge.delegate({ prompt: 'hi' })
    expect(outcomeOf(await run.result()).status).toBe('awaiting-approval')
    expect(trace).toEqual([])
    const { sessionId } = run
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result()).text).toBe('done with 1')
    expect(trace).toEqual(['closed'])
  })

  it('B40: a waiting request can be cancelled, and closed with its session', async () => {
    const { bridge } = await startBridge([turnAgent([approval])])
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    expect(await bridge.cancel({ sessionId })).toMatchObject({ cancelled: true, settled: true, requestId: 'r1' })
    expect(await bridge.request('r1')).toMatchObject({ status: 'aborted', stopReason: 'cancelled' })
    expect((await bridge.session(sessionId)).status).toBe('idle')
  })
})

describe('answers', () => {
  async function waiting() {
    const legs: unknown[] = []
    const { bridge } = await startBridge([turnAgent([approval, tool], legs)])
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    return { bridge, sessionId, legs }
  }

  it('B40: are checked as a whole before any is passed on; unknown ids are NOT_FOUND', async () => {
    const { bridge, sessionId, legs } = await waiting()
    const error = failureOf(await bridge.prompt({ sessionId, answers: [approve, { id: 'nothing', output: 1 }] }).result())
    expect(error).toMatchObject({ code: 'NOT_FOUND', details: { issues: [{ path: 'answers[1]', id: 'nothing' }], requestId: 'r1' } })
    expect(legs).toHaveLength(1)
    expect(await bridge.request('r1')).toMatchObject({ status: 'awaiting-tools', pending: [approval, tool] })
  })

  it('B40: the same answer again is a no-op, a different one is PROTOCOL, also after the request is over', async () => {
    const { bridge, sessionId, legs } = await waiting()
    outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result())
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result())).toMatchObject({ pending: [tool] })
    expect(legs).toHaveLength(2)
    const contrary: Answer = { id: 'ap_1', decision: 'deny' }
    const refused = { code: 'PROTOCOL', details: { issues: [{ path: 'answers[0]', id: 'ap_1' }] } }
    expect(failureOf(await bridge.prompt({ sessionId, answers: [contrary] }).result())).toMatchObject(refused)
    expect(failureOf(await bridge.prompt({ sessionId, answers: [contrary, located] }).result())).toMatchObject(refused)
    const end = outcomeOf(await bridge.prompt({ sessionId, answers: [located] }).result())
    expect(await bridge.prompt({ sessionId, answers: [approve, located] }).result()).toEqual(end)
    expect(failureOf(await bridge.prompt({ sessionId, answers: [contrary] }).result())).toMatchObject(refused)
    expect(legs).toHaveLength(3)
  })

  it.each<[string, Answer[]]>([
    ['an output for an approval', [{ id: 'ap_1', output: 1 }]],
    ['a decision for a tool', [{ id: 'child/call_1', decision: 'approve' }]],
    ['two answers to one', [approve, { id: 'ap_1', decision: 'deny' }]],
  ])('B40: %s is PROTOCOL', async (_what, answers) => {
    const { bridge, sessionId, legs } = await waiting()
    const error = failureOf(await bridge.prompt({ sessionId, answers }).result())
    expect(error.code).toBe('PROTOCOL')
    expect(error.details.issues?.length).toBeGreaterThan(0)
    expect(legs).toHaveLength(1)
  })

  it('B40: are accepted from the owner only', async () => {
    const { bridge, sessionId, legs } = await waiting()
    expect(failureOf(await bridge.prompt({ sessionId, answers: [approve], owner: 'ann' }).result()).code).toBe('NOT_FOUND')
    expect(failureOf(await bridge.prompt({ sessionId, answers: [approve], requestId: 'r1', owner: 'ann' }).result()).code).toBe('NOT_FOUND')
    expect(legs).toHaveLength(1)
  })

  it('B40: are NOT_FOUND if nothing waits for them', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    const { sessionId } = await bridge.createSession()
    expect(failureOf(await bridge.prompt({ sessionId, answers: [approve] }).result()).code).toBe('NOT_FOUND')
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
    expect(failureOf(await bridge.prompt({ sessionId, answers: [approve] }).result()).code).toBe('NOT_FOUND')
    expect(failureOf(await bridge.prompt({ sessionId, answers: [approve], requestId: 'none' }).result()).code).toBe('NOT_FOUND')
  })
})

describe('after the bridge was stopped or killed', () => {
  it('B41, B97: the next bridge accepts answers to a durable agent that waits', async () => {
    const legs: unknown[] = []
    const durable = { ...turnAgent([approval, tool], legs), durable: true }
    const store = memoryStateStore()
    const first = await startBridge([durable], { store })
    const { sessionId } = await first.bridge.createSession()
    outcomeOf(await first.bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    await first.bridge.stop()
    const { bridge } = await startBridge([durable], { store })
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result())).toMatchObject({
      status: 'awaiting-tools',
      pending: [tool],
    })
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [located], requestId: 'r1' }).result())).toMatchObject({
      status: 'completed',
      requestId: 'r1',
    })
    expect(legs).toMatchObject([{ prompt: 'hi' }, { prompt: 'hi', requestId: 'r1' }, { answers: [approve] }, { answers: [located] }])
    expect((await bridge.session(sessionId)).status).toBe('idle')
  })

  it('B40, B97: an answer that was recorded and may not have arrived is passed on again, and only if the agent asks for it', async () => {
    const legs: unknown[] = []
    const hanging = {
      ...testAgent('a', {
        onPrompt: ({ answers }: PromptContext) =>
          answers ? never : { text: '', stopReason: 'needs_input' as const, pending: [approval, tool] },
      }),
      durable: true,
    }
    const store = memoryStateStore()
    const first = await startBridge([hanging], { store })
    const { sessionId } = await first.bridge.createSession()
    outcomeOf(await first.bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    await first.bridge.prompt({ sessionId, answers: [approve] }).accepted()
    await first.bridge.stop()
    const { bridge } = await startBridge([{ ...turnAgent([approval, tool], legs), durable: true }], { store })
    expect(await bridge.request('r1', { waitMs: 1000 })).toMatchObject({ status: 'awaiting-tools', pending: [tool] })
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result()).status).toBe('awaiting-tools')
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [located] }).result()).text).toBe('done with 2')
    expect(legs).toMatchObject([{ prompt: 'hi' }, { answers: [approve] }, { answers: [located] }])
  })
})

describe('concurrent answers, and faults', () => {
  it('B40: two answers at once to two questions are both accepted', async () => {
    const legs: unknown[] = []
    const { bridge } = await startBridge([turnAgent([approval, tool], legs)])
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    const runs = [approve, located].map((each) => bridge.prompt({ sessionId, answers: [each] }))
    for (const run of runs) expect(await run.accepted()).toBe(true)
    for (const run of runs) outcomeOf(await run.result())
    expect(await bridge.request('r1', { waitMs: 1000 })).toMatchObject({ status: 'completed', text: 'done with 2' })
  })

  it('B40: an answer that the agent refuses counts as never given', async () => {
    let refuse = true
    const taken: Answer[] = []
    const agent = streamAgent([approval, tool], taken)
    const onAnswers = (request: AnswersContext): void => {
      if (refuse) throw new BridgeError('PROTOCOL', 'Not so')
      void agent.onAnswers?.(request)
    }
    const { bridge } = await startBridge([{ ...agent, onAnswers }])
    const { sessionId } = await bridge.createSession()
    const waiting = outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    expect(failureOf(await bridge.prompt({ sessionId, answers: [approve, located] }).result()).code).toBe('PROTOCOL')
    expect(await bridge.request('r1')).toEqual(waiting)
    expect(bridge.health().requests.inFlight).toBe(0)
    refuse = false
    const other: Answer = { id: 'ap_1', decision: 'deny' }
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [other, located] }).result()).status).toBe('completed')
    expect(taken).toEqual([other, located])
  })

  it('B40: a question that is asked again accepts the same answer again', async () => {
    let asked = 0
    const onPrompt = (): PromptResult => {
      asked += 1
      return asked > 2 ? answer('done') : { text: '', stopReason: 'needs_input', pending: [approval] }
    }
    const { bridge } = await startBridge([testAgent('a', { onPrompt })])
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result()).status).toBe('awaiting-approval')
    expect(outcomeOf(await bridge.prompt({ sessionId, answers: [approve] }).result()).text).toBe('done')
  })

  it('B61: the signal of a call with answers cancels the request', async () => {
    const onPrompt = async function* ({ abortSignal }: PromptContext): AsyncGenerator<BridgeEvent> {
      yield { type: 'needs-input', pending: [approval] }
      await aborted(abortSignal)
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt, onAnswers: () => {} })])
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi' }).result())
    const caller = new AbortController()
    const run = bridge.prompt({ sessionId, answers: [approve], abortSignal: caller.signal })
    await clock.advance(0)
    caller.abort()
    expect(outcomeOf(await run.result()).status).toBe('aborted')
  })
})

describe('answers to a request that an earlier bridge left waiting', () => {
  /** A durable agent: prompted again under the same id, it asks the same questions until all are answered. */
  function durableAgent(legs: unknown[] = []) {
    return { ...turnAgent([approval], legs), durable: true }
  }

  async function leftWaiting(store = memoryStateStore()) {
    const { bridge } = await startBridge([durableAgent()], { store })
    const { sessionId } = await bridge.createSession()
    outcomeOf(await bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    await bridge.stop()
    return { store, sessionId }
  }

  it('B97: two callers at once both find the request', async () => {
    const { store, sessionId } = await leftWaiting()
    const { bridge } = await startBridge([durableAgent()], { store })
    const runs = [1, 2].map(() => bridge.prompt({ sessionId, requestId: 'r1', answers: [approve] }))
    for (const run of runs) expect(outcomeOf(await run.result()).text).toBe('done with 1')
  })

  it('B72: while the bridge stops no caller can resume it', async () => {
    const { store } = await leftWaiting()
    const legs: unknown[] = []
    const { bridge, clock } = await startBridge([durableAgent(legs), testAgent('slow', { onPrompt: () => never })], { store })
    await bridge.delegate({ prompt: 'hi', agentId: 'slow' }).accepted()
    const stopping = bridge.stop({ deadlineMs: 1000 })
    expect(await bridge.request('r1')).toMatchObject({ status: 'awaiting-approval' })
    await clock.advance(5000)
    await stopping
    expect(await bridge.request('r1')).toMatchObject({ status: 'awaiting-approval' })
    expect(legs).toEqual([])
  })

  it('B99: answers to a session of another live process that is not durable are refused as elsewhere', async () => {
    const store = memoryStateStore()
    const { bridge: first } = await startBridge([turnAgent([approval])], { store })
    const { bridge: second } = await startBridge([turnAgent([approval])], { store })
    const { sessionId } = await first.createSession()
    outcomeOf(await first.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    const refused = failureOf(await second.prompt({ sessionId, answers: [approve], requestId: 'r1' }).result())
    expect(refused).toMatchObject({ code: 'TRANSPORT', details: { reason: 'elsewhere' } })
    expect(outcomeOf(await first.prompt({ sessionId, answers: [approve] }).result()).text).toBe('done with 1')
  })

  it('B98: of two bridges the one that did not get the answers reports the end too', async () => {
    const durable = { ...turnAgent([approval]), durable: true }
    const store = memoryStateStore()
    const [first, second] = [await startBridge([durable], { store }), await startBridge([durable], { store })]
    const { sessionId } = await first.bridge.createSession()
    outcomeOf(await first.bridge.prompt({ sessionId, prompt: 'hi', requestId: 'r1' }).result())
    const end = outcomeOf(await second.bridge.prompt({ sessionId, answers: [approve], requestId: 'r1' }).result())
    expect(end.status).toBe('completed')
    expect(await first.bridge.request('r1')).toEqual(end)
    expect((await first.bridge.session(sessionId)).status).toBe('idle')
  })
})
