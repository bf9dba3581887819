import { describe, expect, it } from 'vitest'
import { BridgeError } from '../src/index.ts'
import type { BridgeAgent, BridgeEvent, BridgeOptions, DelegateInput, PromptContext, SessionContext } from '../src/index.ts'
import { answer, failureOf, outcomeOf, startBridge, testAgent } from './support.ts'
import type { AgentParts } from './support.ts'

/** An agent that records every hook call. */
function tracedAgent(trace: string[], parts: AgentParts = {}): BridgeAgent {
  return testAgent('a', {
    onSessionCreate: () => void trace.push('create'),
    onPrompt: ({ prompt }) => {
      trace.push('prompt')
      return answer(prompt)
    },
    onSessionClose: (_session, reason) => void trace.push(`close ${reason}`),
    ...parts,
  })
}

async function* stream(...events: BridgeEvent[]): AsyncGenerator<BridgeEvent> {
  yield* events
}

async function delegateTo(agent: BridgeAgent, input: Partial<DelegateInput> = {}, options: BridgeOptions = {}) {
  const { bridge, logger } = await startBridge([agent], options)
  const result = await bridge.delegate({ prompt: 'hi', ...input }).result()
  return { result, logger, bridge }
}

describe('the session of a delegation', () => {
  it('B10: session ids are created by the bridge, from 128 random bits', async () => {
    const sessions: SessionContext[] = []
    const { bridge } = await startBridge([testAgent('a', { onSessionCreate: (session) => void sessions.push(session) })])
    const runs = Array.from({ length: 200 }, () => bridge.delegate({ prompt: 'hi', metadata: { sessionId: 'mine' } }))
    const some = runs.slice(0, 50)
    await Promise.all(runs.map((run) => run.result()))
    expect(new Set(runs.map(({ sessionId }) => sessionId)).size).toBe(200)
    for (const { sessionId } of some) expect(sessionId).toMatch(/^bs_[A-Za-z0-9_-]{22}$/)
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(some.map(({ sessionId }) => sessionId))
  })

  it('B11: onSessionCreate is awaited before the prompt', async () => {
    const trace: string[] = []
    const created = Promise.withResolvers<void>()
    const agent = tracedAgent(trace, {
      onSessionCreate: async () => {
        await created.promise
        trace.push('create')
      },
    })
    const { bridge } = await startBridge([agent])
    const result = bridge.delegate({ prompt: 'hi' }).result()
    expect(trace).toEqual([])
    created.resolve()
    await result
    expect(trace).toEqual(['create', 'prompt', 'close closed'])
  })

  it('B11: if onSessionCreate throws, nothing remains, its error is passed on and no close hook runs', async () => {
    const trace: string[] = []
    const thrown = new BridgeError('AUTH', 'key expired', { details: { reason: 'expired' } })
    const agent = tracedAgent(trace, { onSessionCreate: () => Promise.reject(thrown) })
    const { result, bridge } = await delegateTo(agent)
    const { code, message, retryable, details } = failureOf(result)
    expect({ code, message, retryable }).toEqual({ code: 'AUTH', message: 'key expired', retryable: false })
    expect(details).toMatchObject(thrown.details)
    expect(trace).toEqual([])
    expect(bridge.health().requests.inFlight).toBe(0)
  })

  it('B13: metadata reaches the agent unchanged', async () => {
    const metadata = { z: null, a: [1, 1.5, -0.25], nested: { provider: 'openai', '': false }, text: 'ünï' }
    let seen: SessionContext | undefined
    await delegateTo(testAgent('a', { onSessionCreate: (session) => void (seen = session) }), { metadata })
    expect(JSON.stringify(seen?.metadata)).toBe(JSON.stringify(metadata))
    expect(seen).toMatchObject({ agentId: 'a', owner: 'local', createdAt: 1000 })
  })

  it('B51: create, prompt and close run in that order; closed after success and failed after an error', async () => {
    const trace: string[] = []
    await delegateTo(tracedAgent(trace))
    await delegateTo(tracedAgent(trace, { onPrompt: () => Promise.reject(new Error('broken')) }))
    expect(trace).toEqual(['create', 'prompt', 'close closed', 'create', 'close failed'])
  })

  it('B52: a create error means no close, a prompt error still closes', async () => {
    const trace: string[] = []
    await delegateTo(tracedAgent(trace, { onSessionCreate: () => Promise.reject(new Error('no')) }))
    expect(trace).toEqual([])
    await delegateTo(tracedAgent(trace, { onPrompt: () => Promise.reject(new Error('no')) }))
    expect(trace).toEqual(['create', 'close failed'])
  })

  it('B52: a failing close never hides an answer', async () => {
    const agent = testAgent('a', { onSessionClose: () => Promise.reject(new Error('disk full')) })
    const { result, logger } = await delegateTo(agent)
    expect(outcomeOf(result).text).toBe('a: hi')
    expect(logger.lines.map(({ message }) => message)).toContain('onSessionClose failed')
  })
})

describe('a refused call', () => {
  it('B29: calls no hook and writes no record', async () => {
    const trace: string[] = []
    const { bridge } = await startBridge([tracedAgent(trace)], { maxPromptBytes: 4 })
    const refused: DelegateInput[] = [
      { prompt: '', requestId: 'r1' },
      { prompt: 'too long', requestId: 'r1' },
      { prompt: 'hi', agentId: 'nobody', requestId: 'r1' },
      { prompt: 'hi', requestId: 'r1', timeoutMs: -1 },
    ]
    for (const input of refused) failureOf(await bridge.delegate(input).result())
    expect(trace).toEqual([])
    // The id is still unused, so another payload under it is accepted.
    expect(outcomeOf(await bridge.delegate({ prompt: 'new', requestId: 'r1' }).result()).text).toBe('new')
  })

  it.each(['', ' \n'])('B39: an empty prompt is refused with its issue: %j', async (prompt) => {
    const { result } = await delegateTo(testAgent('a'), { prompt })
    expect(failureOf(result)).toMatchObject({ code: 'PROTOCOL', details: { issues: [{ path: 'delegate.input.prompt' }] } })
  })

  it('B39: prompt size counts UTF-8 bytes; exactly the limit is allowed', async () => {
    const options = { maxPromptBytes: 6 }
    outcomeOf((await delegateTo(testAgent('a'), { prompt: 'üüü' }, options)).result)
    const { result } = await delegateTo(testAgent('a'), { prompt: 'üüüa' }, options)
    expect(failureOf(result)).toMatchObject({ code: 'CAPACITY', retryable: false, details: { reason: 'prompt-too-large' } })
  })

  it('B39: metadata and runtimeParams count together; exactly the limit is allowed', async () => {
    const input = { metadata: { a: 'x' }, runtimeParams: { seed: 1 } }
    const bytes = '{"a":"x"}'.length + '{"seed":1}'.length
    outcomeOf((await delegateTo(testAgent('a'), input, { maxMetadataBytes: bytes })).result)
    const { result } = await delegateTo(testAgent('a'), input, { maxMetadataBytes: bytes - 1 })
    expect(failureOf(result)).toMatchObject({ code: 'CAPACITY', retryable: false, details: { reason: 'metadata-too-large' } })
  })

  it.each<[string, object]>([
    ['an unknown key', { colour: 'red' }],
    ['an id of other characters', { requestId: '../x' }],
    ['metadata that is not JSON', { metadata: { when: new Date() } }],
    ['an unknown parameter', { runtimeParams: { temprature: 1 } }],
    ['a parameter out of range', { runtimeParams: { temperature: 3 } }],
    ['more time than there may be', { timeoutMs: 24 * 3_600_000 + 1 }],
    ['an empty owner', { owner: '' }],
  ])('%s is PROTOCOL with issues', async (_what, input) => {
    const { result } = await delegateTo(testAgent('a'), input)
    const error = failureOf(result)
    expect(error.code).toBe('PROTOCOL')
    expect(error.details.issues?.length).toBeGreaterThan(0)
  })

  it('metadata nested deeper than the stack is PROTOCOL', async () => {
    let metadata: DelegateInput['metadata'] = {}
    for (let depth = 0; depth < 20_000; depth++) metadata = { a: metadata }
    const { result } = await delegateTo(testAgent('a'), { metadata })
    expect(failureOf(result).code).toBe('PROTOCOL')
  })
})

describe('the result', () => {
  it('B30: a promise, a value and a stream have the same effect', async () => {
    const result = { text: 'done', stopReason: 'max_tokens' as const, structured: { a: 1 } }
    const forms: BridgeAgent['onPrompt'][] = [() => result, async () => result, () => stream({ type: 'result', result })]
    for (const onPrompt of forms) {
      const outcome = outcomeOf((await delegateTo(testAgent('a', { onPrompt }))).result)
      const { requestId: _r, sessionId: _s, ...rest } = outcome
      expect(rest).toStrictEqual({ ok: true, status: 'completed', agentId: 'a', ...result })
    }
  })

  it('B30: without a result event the text is all deltas joined and the stop reason is end_turn', async () => {
    const onPrompt = () => stream({ type: 'text-delta', delta: 'one ' }, { type: 'progress' }, { type: 'text-delta', delta: 'two' })
    const { result } = await delegateTo(testAgent('a', { onPrompt }))
    expect(outcomeOf(result)).toMatchObject({ status: 'completed', text: 'one two', stopReason: 'end_turn' })
  })

  it('B30: events after the result are dropped and logged', async () => {
    const onPrompt = () =>
      stream(
        { type: 'result', result: answer('final') },
        { type: 'text-delta', delta: 'more' },
        { type: 'result', result: answer('other') },
      )
    const { bridge, logger } = await startBridge([testAgent('a', { onPrompt })])
    const run = bridge.delegate({ prompt: 'hi' })
    const seen: BridgeEvent['type'][] = []
    for await (const event of run) seen.push(event.type)
    expect(outcomeOf(await run.result()).text).toBe('final')
    expect(seen).toEqual(['result'])
    expect(logger.lines.filter(({ message }) => message === 'late event dropped')).toHaveLength(2)
  })

  it('B30: a stream that breaks or hangs after its result changes nothing', async () => {
    const breaking = async function* (): AsyncGenerator<BridgeEvent> {
      yield { type: 'result', result: answer('final') }
      throw new Error('too late')
    }
    expect(outcomeOf((await delegateTo(testAgent('a', { onPrompt: breaking }))).result).text).toBe('final')
    const hanging = async function* ({ abortSignal }: PromptContext): AsyncGenerator<BridgeEvent> {
      yield { type: 'result', result: answer('final') }
      await new Promise((resolve) => abortSignal.addEventListener('abort', resolve))
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt: hanging })], { cancelGraceMs: 500 })
    const result = bridge.delegate({ prompt: 'hi' }).result()
    await clock.advance(500)
    expect(outcomeOf(await result).text).toBe('final')
  })

  it('B32: structured, usage and metadata pass through unchanged', async () => {
    const structured = { z: 1, a: null, list: [3, { k: -0.5e-7 }], empty: {}, '': '' }
    const usage = { outputTokens: 7, inputTokens: 0, raw: { prompt_tokens: 9, z: null } }
    const onPrompt = () => ({ text: '', stopReason: 'other' as const, structured, usage })
    const outcome = outcomeOf((await delegateTo(testAgent('a', { onPrompt }))).result)
    expect(JSON.stringify(outcome.structured)).toBe(JSON.stringify(structured))
    expect(JSON.stringify(outcome.usage)).toBe(JSON.stringify(usage))
    const empty = outcomeOf((await delegateTo(testAgent('a', { onPrompt: () => ({ ...answer(''), structured: null }) }))).result)
    expect(empty.structured).toBeNull()
  })

  it('B33: a result over maxResultBytes is an UPSTREAM error, never a truncated text', async () => {
    const forms: BridgeAgent['onPrompt'][] = [
      ({ prompt }) => answer(prompt),
      ({ prompt }) => stream({ type: 'text-delta', delta: prompt }),
      ({ prompt }) => ({ ...answer(''), structured: JSON.parse(prompt) }),
    ]
    for (const onPrompt of forms) {
      const agent = testAgent('a', { onPrompt })
      outcomeOf((await delegateTo(agent, { prompt: '"1234"' }, { maxResultBytes: 6 })).result)
      const { result } = await delegateTo(agent, { prompt: '"12345"' }, { maxResultBytes: 6 })
      expect(failureOf(result)).toMatchObject({ code: 'UPSTREAM', retryable: false, details: { reason: 'result-too-large' } })
    }
  })

  it('B33: an agent whose text grows too large is stopped', async () => {
    const told: string[] = []
    const onPrompt = async function* ({ abortSignal }: PromptContext): AsyncGenerator<BridgeEvent> {
      try {
        for (;;) yield { type: 'text-delta', delta: 'xxxx' }
      } finally {
        told.push(abortSignal.aborted ? 'signal and return' : 'return')
      }
    }
    const agent = testAgent('a', { onPrompt, onCancel: ({ reason }) => void told.push(`cancel ${reason}`) })
    const { result } = await delegateTo(agent, {}, { maxResultBytes: 10 })
    expect(failureOf(result).details.reason).toBe('result-too-large')
    expect(told.sort()).toEqual(['cancel closing', 'signal and return'])
  })

  it('B34: an untyped throw becomes UPSTREAM; its text goes to the log only', async () => {
    const cause = new Error('password=hunter2 at /home/me')
    const forms: BridgeAgent['onPrompt'][] = [
      () => {
        throw cause
      },
      () => Promise.reject(cause),
      // oxlint-disable-next-line require-yield
      async function* () {
        throw cause
      },
    ]
    for (const onPrompt of forms) {
      const { result, logger } = await delegateTo(testAgent('a', { onPrompt }))
      const error = failureOf(result)
      expect(error).toMatchObject({ code: 'UPSTREAM', message: 'Agent a failed', retryable: false })
      expect(JSON.stringify({ ...error })).not.toContain('hunter2')
      expect(logger.lines.find(({ level }) => level === 'error')?.fields['cause']).toMatchObject({
        message: 'password=[redacted] at /home/me',
      })
    }
  })

  it('B34, B121: a BridgeError keeps code, retryable and each detail as thrown, and gets the ids of its call', async () => {
    const thrown = new BridgeError('CAPACITY', 'full', { retryable: false, details: { retryAfterMs: 7, upstreamCode: 429 } })
    const { result } = await delegateTo(testAgent('a', { onPrompt: () => Promise.reject(thrown) }))
    const { code, message, retryable, details, stack } = failureOf(result)
    expect({ code, message, retryable, stack }).toEqual({ code: 'CAPACITY', message: 'full', retryable: false, stack: thrown.stack })
    const ids = { agentId: 'a', sessionId: expect.any(String), requestId: expect.any(String) }
    expect(details).toEqual({ ...thrown.details, ...ids, sessionValid: false })
  })

  it('a result without text, with an unknown stop reason, that is not JSON, or an unknown event is PROTOCOL', async () => {
    const ring: Record<string, unknown> = {}
    ring['me'] = ring
    const wrong: [unknown, string][] = [
      [undefined, 'Agent a returned a result without text'],
      [{ stopReason: 'end_turn' }, 'Agent a returned a result without text'],
      [{ text: 'x', stopReason: 'stop' }, 'Agent a returned the unknown stop reason "stop"'],
      ...[{ at: new Date(0) }, { n: 1n }, () => 1, { x: Number.NaN }, ring, new Map()].map((structured) => {
        return [{ text: 'x', stopReason: 'end_turn', structured }, 'Agent a returned a result that is not JSON'] as [unknown, string]
      }),
    ]
    for (const [value, message] of wrong) {
      const { result } = await delegateTo(testAgent('a', { onPrompt: () => value as never }))
      expect(failureOf(result)).toMatchObject({ code: 'PROTOCOL', message })
    }
    const { result } = await delegateTo(testAgent('a', { onPrompt: () => stream({ type: 'text' } as never) }))
    expect(failureOf(result)).toMatchObject({ code: 'PROTOCOL', message: expect.stringContaining('"text"') })
  })

  it.each([
    ['refusal', 'halted'],
    ['max_turn_requests', 'limit'],
    ['cancelled', 'aborted'],
    ['needs_input', 'awaiting-tools'],
  ] as const)('the stop reason %s gives the status %s', async (stopReason, status) => {
    const { result } = await delegateTo(testAgent('a', { onPrompt: () => ({ text: '', stopReason }) }))
    expect(outcomeOf(result)).toMatchObject({ status, stopReason })
  })

  it('an agent that waits for approvals only is awaiting-approval, one that waits for both is awaiting-tools', async () => {
    const pending = (...kinds: ('approval' | 'tool')[]) => kinds.map((kind) => ({ id: kind, kind, toolName: 't', input: {} }))
    const onPrompt = ({ prompt }: PromptContext) => ({
      text: '',
      stopReason: 'needs_input' as const,
      pending: prompt === 'both' ? pending('approval', 'tool') : pending('approval'),
    })
    const one = outcomeOf((await delegateTo(testAgent('a', { onPrompt }))).result)
    expect(one).toMatchObject({ status: 'awaiting-approval', pending: [{ id: 'approval' }] })
    const both = outcomeOf((await delegateTo(testAgent('a', { onPrompt }), { prompt: 'both' })).result)
    expect(both.status).toBe('awaiting-tools')
  })
})

describe('parameters', () => {
  it('B37: apply to one prompt only and are not kept', async () => {
    const seen: unknown[] = []
    const { bridge } = await startBridge([
      testAgent('a', {
        onPrompt: ({ runtimeParams, session }) => {
          seen.push([runtimeParams, session.metadata])
          return answer('')
        },
      }),
    ])
    await bridge.delegate({ prompt: 'hi', runtimeParams: { temperature: 0.5 } }).result()
    await bridge.delegate({ prompt: 'hi' }).result()
    expect(seen).toEqual([
      [{ temperature: 0.5 }, {}],
      [{}, {}],
    ])
  })

  it('B38: the bridge drops none and adds none', async () => {
    const runtimeParams = { topK: 1, providerSpecific: { z: null, a: { b: [0] } }, stopSequences: [], systemPrompt: '' }
    let seen: unknown
    const onPrompt = (request: PromptContext) => {
      seen = request.runtimeParams
      return answer('')
    }
    await delegateTo(testAgent('a', { onPrompt }), { runtimeParams })
    expect(JSON.stringify(seen)).toBe(JSON.stringify(runtimeParams))
  })
})
