import { describe, expect, it } from 'vitest'
import { inProcessExecutor } from '../src/index.ts'
import type { BridgeEvent, BridgeNotice, PromptContext, SessionContext } from '../src/index.ts'
import { workContext } from '../src/context.ts'
import { answer, failureOf, never, outcomeOf, startBridge, startBridgeOf, testAgent } from './support.ts'

/** An agent that answers a prompt when `finish` names it. It records the order in which prompts began. */
function orderedAgent() {
  const begun: string[] = []
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const gateOf = (prompt: string): PromiseWithResolvers<void> => {
    const gate = gates.get(prompt) ?? Promise.withResolvers<void>()
    gates.set(prompt, gate)
    return gate
  }
  const agent = testAgent('a', {
    onPrompt: async ({ prompt }: PromptContext) => {
      begun.push(prompt)
      await gateOf(prompt).promise
      return answer(prompt)
    },
  })
  return { agent, begun, finish: (prompt: string) => gateOf(prompt).resolve() }
}

describe('acceptance', () => {
  it('B25: of two prompts at once one runs and one is BUSY, and nothing of the refused one reaches the agent', async () => {
    const seen: unknown[] = []
    const agent = testAgent('a', { onPrompt: ({ prompt, runtimeParams }) => (seen.push([prompt, runtimeParams]), answer(prompt)) })
    const { bridge } = await startBridge([agent])
    const { sessionId } = await bridge.createSession()
    const runs = [1, 2, 3].map((n) => bridge.prompt({ sessionId, prompt: `p${n}`, runtimeParams: { seed: n } }))
    const results = await Promise.all(runs.map((run) => run.result()))
    expect(results.map((result) => (result.ok ? result.status : result.error.code))).toEqual(['completed', 'BUSY', 'BUSY'])
    expect(seen).toEqual([['p1', { seed: 1 }]])
    const winner = results[0]
    const loser = failureOf(results[1] as (typeof results)[number] & object)
    expect(loser.details.requestId).toBe(winner?.ok ? winner.requestId : '')
    expect(failureOf(await bridge.request(runs[1]?.requestId ?? '')).code).toBe('NOT_FOUND')
    expect(bridge.health().requests.inFlight).toBe(0)
  })

  it('B26: the request id is in the record before the agent is called, and is the current one of the session', async () => {
    const found: unknown[] = []
    const holder: { look?: (requestId: string, sessionId: string) => Promise<void> } = {}
    const agent = testAgent('a', {
      onPrompt: async ({ requestId, session }) => {
        await holder.look?.(requestId, session.sessionId)
        return answer('done')
      },
    })
    const { bridge } = await startBridge([agent])
    holder.look = async (requestId, sessionId) => {
      found.push(await bridge.request(requestId), (await bridge.session(sessionId)).currentRequestId)
    }
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi', requestId: 'mine' })
    outcomeOf(await run.result())
    expect(found).toEqual([{ ok: true, status: 'running', sessionId, agentId: 'a', requestId: 'mine' }, 'mine'])
    const made = bridge.prompt({ sessionId, prompt: 'hi' })
    expect(made.requestId).toMatch(/^req_[A-Za-z0-9_-]{22}$/)
    outcomeOf(await made.result())
    expect(found[3]).toBe(made.requestId)
  })

  it('B27, B28: the same id or key joins the first prompt, while it runs and when it is over', async () => {
    const { agent, begun, finish } = orderedAgent()
    const { bridge, clock } = await startBridge([agent])
    const { sessionId } = await bridge.createSession()
    for (const name of [{ requestId: 'r1' }, { idempotencyKey: 'k1' }]) {
      begun.length = 0
      const prompt = JSON.stringify(name)
      const first = bridge.prompt({ sessionId, prompt, ...name })
      await clock.advance(0)
      const second = bridge.prompt({ sessionId, prompt, ...name })
      finish(prompt)
      expect(await second.result()).toEqual(await first.result())
      const third = bridge.prompt({ sessionId, prompt, ...name })
      expect(await third.result()).toEqual(await first.result())
      expect([second.requestId, third.requestId]).toEqual([first.requestId, first.requestId])
      expect(begun).toEqual([prompt])
      const other = failureOf(await bridge.prompt({ sessionId, prompt: 'another', ...name }).result())
      expect(other).toMatchObject({ code: 'PROTOCOL', details: { reason: 'id-reused' } })
    }
  })

  it('B28: a key is per owner and per tool, and joined delegations have the ids of the first', async () => {
    const { bridge } = await startBridge([testAgent('a')])
    const first = bridge.delegate({ prompt: 'hi', idempotencyKey: 'k' })
    const outcome = outcomeOf(await first.result())
    const second = bridge.delegate({ prompt: 'hi', idempotencyKey: 'k' })
    expect(await second.result()).toEqual(outcome)
    expect([second.requestId, second.sessionId]).toEqual([first.requestId, first.sessionId])
    const { sessionId } = await bridge.createSession()
    const prompted = bridge.prompt({ sessionId, prompt: 'hi', idempotencyKey: 'k' })
    expect(outcomeOf(await prompted.result()).requestId).not.toBe(first.requestId)
    const anns = bridge.delegate({ prompt: 'ho', idempotencyKey: 'k', owner: 'ann' })
    expect(outcomeOf(await anns.result()).text).toBe('a: ho')
    expect(failureOf(await bridge.delegate({ prompt: 'hi', idempotencyKey: 'k', requestId: 'r' }).result()).code).toBe('PROTOCOL')
  })

  it('B36: an abort before the start leaves the session idle', async () => {
    const { agent, begun } = orderedAgent()
    const { bridge } = await startBridge([agent])
    const { sessionId } = await bridge.createSession()
    const run = bridge.prompt({ sessionId, prompt: 'hi', abortSignal: AbortSignal.abort() })
    expect(await run.result()).toMatchObject({ ok: true, status: 'aborted', stopReason: 'cancelled' })
    expect(begun).toEqual([])
    expect((await bridge.session(sessionId)).status).toBe('idle')
  })

  it.each([
    [{}, 'neither'],
    [{ prompt: 'hi', answers: [{ id: 'x', output: 1 }] }, 'both'],
    [{ answers: [] }, 'no answers'],
    [{ answers: [{ id: 'x' }] }, 'an answer that says nothing'],
    [{ prompt: 'hi', colour: 'red' }, 'an unknown key'],
  ] as const)('%j is PROTOCOL: %s', async (input, _what) => {
    const { bridge } = await startBridge([testAgent('a')])
    const { sessionId } = await bridge.createSession()
    const error = failureOf(await bridge.prompt({ sessionId, ...input } as never).result())
    expect(error.code).toBe('PROTOCOL')
    expect(error.details.issues?.length).toBeGreaterThan(0)
  })
})

describe('waiting for a request', () => {
  it('B53: the outcome of a delegation stays readable after its session is gone, for the retention', async () => {
    const { bridge, clock } = await startBridge([testAgent('a')], { requestRetentionMs: 1000 })
    const run = bridge.delegate({ prompt: 'hi' })
    const outcome = outcomeOf(await run.result())
    await expect(bridge.session(run.sessionId)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await bridge.request(run.requestId)).toEqual(outcome)
    await clock.advance(1000)
    expect(failureOf(await bridge.request(run.requestId)).code).toBe('NOT_FOUND')
  })

  it('B55: a delegation is accepted whatever onSessionCreate does', async () => {
    const { bridge, clock } = await startBridge([testAgent('a', { onSessionCreate: () => never })])
    const run = bridge.delegate({ prompt: 'hi' })
    expect(await run.accepted()).toBe(true)
    expect(await bridge.request(run.requestId)).toMatchObject({ ok: true, status: 'running' })
    await bridge.cancel({ requestId: run.requestId })
    expect(clock.pendingTimers).toBe(0)
  })

  it('B63: a thousand waiters cost one timer and no slot, and each waits for its own timeout', async () => {
    const { agent, finish } = orderedAgent()
    const { bridge, clock } = await startBridge([agent], { maxInFlight: 1 })
    const run = bridge.delegate({ prompt: 'hi' })
    await clock.advance(0)
    const timers = clock.pendingTimers
    const waits = Array.from({ length: 1000 }, (_, n) => bridge.request(run.requestId, { waitMs: 1000 + n }))
    await clock.advance(0)
    expect(clock.pendingTimers).toBe(timers + 1)
    expect(bridge.health().requests.inFlight).toBe(1)
    await clock.advance(1499)
    const early = await Promise.all(waits.slice(0, 500))
    expect(early.every((result) => result.ok && result.status === 'running')).toBe(true)
    finish('hi')
    const late = await Promise.all(waits.slice(500))
    expect(late.every((result) => result.ok && result.status === 'completed')).toBe(true)
    expect(clock.pendingTimers).toBe(0)
  })

  it('B63: a waiter may leave early', async () => {
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt: () => never })])
    const run = bridge.delegate({ prompt: 'hi' })
    await clock.advance(0)
    const leaving = new AbortController()
    const wait = bridge.request(run.requestId, { waitMs: 10_000, abortSignal: leaving.signal })
    await clock.advance(0)
    leaving.abort()
    expect(await wait).toMatchObject({ status: 'running' })
  })

  it('the progress that a running request reports is in its answer', async () => {
    const events: BridgeEvent[] = [
      { type: 'text-delta', delta: 'abc' },
      { type: 'progress', message: 'half way' },
    ]
    const onPrompt = async function* () {
      yield* events
      await never
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })])
    const run = bridge.delegate({ prompt: 'hi' })
    await clock.advance(5)
    expect(await bridge.request(run.requestId)).toMatchObject({ status: 'running', progress: { chars: 3, message: 'half way', at: 1000 } })
  })
})

describe('slots', () => {
  it('B65, B68: the queue starts requests in the order of each owner, and owners in turn', async () => {
    const { agent, begun, finish } = orderedAgent()
    const { bridge, clock } = await startBridge([agent], { maxInFlight: 1, maxQueued: 5 })
    const calls = [
      ['first', 'x'],
      ['a1', 'ann'],
      ['a2', 'ann'],
      ['a3', 'ann'],
      ['b1', 'bob'],
      ['b2', 'bob'],
    ] as const
    const runs = calls.map(([prompt, owner]) => bridge.delegate({ prompt, owner }))
    await clock.advance(0)
    expect(bridge.health().requests).toEqual({ inFlight: 1, capacity: 1, queued: 5 })
    expect(await bridge.request(runs[1]?.requestId ?? '', { owner: 'ann' })).toMatchObject({ status: 'queued' })
    expect(failureOf(await bridge.delegate({ prompt: 'one too many' }).result())).toMatchObject({
      code: 'CAPACITY',
      details: { retryAfterMs: expect.any(Number) },
    })
    for (let done = 0; done < calls.length; done++) {
      finish(begun.at(-1) ?? '')
      await clock.advance(0)
    }
    expect(begun).toEqual(['first', 'a1', 'b1', 'a2', 'b2', 'a3'])
    expect(bridge.health().requests).toMatchObject({ inFlight: 0, queued: 0 })
  })

  it('B68: time in the queue counts toward the deadline, and a queued request can be cancelled', async () => {
    const { agent, begun, finish } = orderedAgent()
    const { bridge, clock } = await startBridge([agent], { maxInFlight: 1, maxQueued: 5 })
    const running = bridge.delegate({ prompt: 'first' })
    const late = bridge.delegate({ prompt: 'late', timeoutMs: 500 })
    const cancelled = bridge.delegate({ prompt: 'cancelled' })
    await clock.advance(499)
    expect(await bridge.cancel({ requestId: cancelled.requestId })).toMatchObject({ cancelled: true, settled: true })
    expect(outcomeOf(await cancelled.result()).status).toBe('aborted')
    await clock.advance(1)
    expect(failureOf(await late.result())).toMatchObject({ code: 'TIMEOUT', details: { stage: 'total' } })
    expect(bridge.health()).toMatchObject({ requests: { queued: 0 }, sessions: { active: 1 } })
    finish('first')
    outcomeOf(await running.result())
    expect(begun).toEqual(['first'])
  })

  it('B66: reads, cancels, closes and answers are not refused for load', async () => {
    const pending = [{ id: 'q', kind: 'approval' as const, toolName: 't', input: {} }]
    const onPrompt = ({ prompt, answers }: PromptContext) => {
      if (answers) return answer('answered')
      return prompt === 'ask' ? { text: '', stopReason: 'needs_input' as const, pending } : never
    }
    const { bridge, clock } = await startBridge([testAgent('a', { onPrompt })], { maxInFlight: 1 })
    const asking = await bridge.createSession()
    expect(outcomeOf(await bridge.prompt({ sessionId: asking.sessionId, prompt: 'ask' }).result()).status).toBe('awaiting-approval')
    const full = await bridge.createSession()
    const hanging = bridge.prompt({ sessionId: full.sessionId, prompt: 'hang' })
    await clock.advance(0)
    expect(bridge.health().requests.inFlight).toBe(1)
    expect(failureOf(await bridge.delegate({ prompt: 'hi' }).result()).code).toBe('CAPACITY')
    expect(bridge.discover()).toHaveLength(1)
    expect((await bridge.sessions()).sessions).toHaveLength(2)
    expect(await bridge.request(hanging.requestId)).toMatchObject({ status: 'running' })
    const answered = bridge.prompt({ sessionId: asking.sessionId, answers: [{ id: 'q', decision: 'approve' }] })
    expect(outcomeOf(await answered.result()).text).toBe('answered')
    const cancelling = bridge.cancel({ sessionId: full.sessionId })
    await clock.advance(5000)
    expect(await cancelling).toMatchObject({ cancelled: true, settled: false })
    expect(await bridge.close({ sessionId: full.sessionId })).toMatchObject({ existed: true })
    expect(bridge.health().requests.inFlight).toBe(0)
  })
})

describe('nested delegation', () => {
  /** Starts agents, each of which delegates its prompt to the next. */
  async function chain(ids: readonly string[], options = {}) {
    const seen: Pick<SessionContext, 'agentId' | 'depth' | 'path'>[] = []
    const holder: { bridge?: Awaited<ReturnType<typeof startBridge>>['bridge'] } = {}
    const agents = [...new Set(ids)].map((id) =>
      testAgent(id, {
        onPrompt: async ({ prompt, session: { agentId, depth, path } }) => {
          seen.push({ agentId, depth, path })
          const [next, ...rest] = prompt.split(' ').filter((id) => id !== '-')
          if (next === undefined) return answer('end')
          const result = await holder.bridge?.delegate({ agentId: next, prompt: rest.join(' ') || '-' }).result()
          if (!result?.ok) throw result?.error ?? new Error('no bridge')
          return answer(`${id} ${result.text}`)
        },
      }),
    )
    const { bridge } = await startBridge(agents, options)
    holder.bridge = bridge
    const [first, ...rest] = ids
    return { seen, result: await bridge.delegate({ agentId: first ?? '', prompt: rest.join(' ') || '-' }).result() }
  }

  it('B56: depth and path are counted without an option of the caller', async () => {
    const { seen, result } = await chain(['a', 'b', 'c'])
    expect(outcomeOf(result).text).toBe('a b end')
    expect(seen).toEqual([
      { agentId: 'a', depth: 0, path: [] },
      { agentId: 'b', depth: 1, path: ['a'] },
      { agentId: 'c', depth: 2, path: ['a', 'b'] },
    ])
  })

  it('B56: more than maxDepth is PROTOCOL', async () => {
    expect(failureOf((await chain(['a', 'b', 'c'], { maxDepth: 1 })).result)).toMatchObject({
      code: 'PROTOCOL',
      details: { reason: 'too-deep', agentId: 'c' },
    })
    outcomeOf((await chain(['a', 'b'], { maxDepth: 1 })).result)
  })

  it('B56: the same agent twice in the path is PROTOCOL, unless the options allow it', async () => {
    expect(failureOf((await chain(['a', 'b', 'a'])).result)).toMatchObject({ code: 'PROTOCOL', details: { reason: 'loop' } })
    expect(outcomeOf((await chain(['a', 'b', 'a'], { allowLoops: true })).result).text).toBe('a b end')
  })

  it('B56: depth and path from another process continue to count', async () => {
    const { bridge } = await startBridge([testAgent('a')], { maxDepth: 3 })
    expect(failureOf(await bridge.delegate({ prompt: 'hi', depth: 4 }).result()).details.reason).toBe('too-deep')
    expect(failureOf(await bridge.delegate({ prompt: 'hi', path: ['x', 'a'] }).result()).details.reason).toBe('loop')
    await expect(bridge.createSession({ depth: 4 })).rejects.toMatchObject({ code: 'PROTOCOL' })
    outcomeOf(await bridge.delegate({ prompt: 'hi', depth: 3 }).result())
  })
})

describe('the context of work', () => {
  it('B70: owner, session and request are known in the agent and in every line of its log, also for concurrent requests', async () => {
    const gate = Promise.withResolvers<void>()
    const seen: unknown[] = []
    const onPrompt = async ({ requestId, session }: PromptContext): Promise<never> => {
      await gate.promise
      seen.push([workContext()?.requestId === requestId, workContext()?.owner === session.owner])
      throw new Error('broken')
    }
    const { bridge, logger, clock } = await startBridge([testAgent('a', { onPrompt })])
    const runs = ['ann', 'bob', 'cid'].map((owner) => bridge.delegate({ prompt: 'hi', owner }))
    await clock.advance(0)
    gate.resolve()
    await Promise.all(runs.map((run) => run.result()))
    expect(seen).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ])
    const lines = logger.lines
      .filter(({ message }) => message === 'the agent failed')
      .map(({ fields }) => [fields['owner'], fields['requestId']])
    expect(lines).toEqual(runs.map((run, n) => [['ann', 'bob', 'cid'][n], run.requestId]))
  })
})

describe('health', () => {
  it('B6: discovery is current at call time, and refresh looks again at most once per second', async () => {
    const probes: number[] = []
    let isThere = true
    const executor = inProcessExecutor({ agents: [testAgent('a')] })
    const [listed] = executor.agents()
    const probing = {
      ...executor,
      agents: () => (listed ? [{ ...listed, status: isThere ? ('ready' as const) : ('unavailable' as const) }] : []),
      refresh: async () => void probes.push(1),
    }
    const notices: BridgeNotice[] = []
    const { bridge, clock } = await startBridgeOf({ onEvent: (notice) => void notices.push(notice) }, probing)
    isThere = false
    expect(bridge.discover()[0]?.status).toBe('unavailable')
    await Promise.all([bridge.refresh(), bridge.refresh(), bridge.refresh()])
    expect(probes).toHaveLength(1)
    await clock.advance(1000)
    await bridge.refresh()
    expect(probes).toHaveLength(2)
  })
})
