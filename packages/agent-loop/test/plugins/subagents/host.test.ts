import { describe, expect, it } from 'vitest'
import { AgentError, createBudget } from '../../../src/index.ts'
import type { ChildHost, ChildOutcome, ChildRequest, Journal } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { remote, until } from '../../support/tools.ts'
import { handOver, helper, lead, plainCall, toldOf } from './support.ts'

type Answer = ChildOutcome | ((request: ChildRequest) => Promise<ChildOutcome>)

const ended: ChildOutcome = {
  kind: 'ended',
  childRunId: 'elsewhere',
  status: 'completed',
  text: 'so',
  steps: 3,
  usage: { inputTokens: 7, outputTokens: 2, totalTokens: 9 },
}

const pendingElsewhere: ChildOutcome = { kind: 'pending', childRunId: 'elsewhere', pendingToolCalls: [], pendingApprovals: [] }

type Offers = Pick<ChildHost, 'sessionKeys' | 'background' | 'depth' | 'maxDepth'> & { unfinished: boolean }

/** Creates a conversation whose journal runs subagents in its own way. */
function hosted(answers: readonly Answer[], { unfinished = false, ...offers }: Partial<Offers> = {}) {
  const requests: ChildRequest[] = []
  const left = [...answers]
  const children: ChildHost = {
    sessionKeys: false,
    background: false,
    ...offers,
    start(request) {
      requests.push(request)
      const answer = left.shift() ?? ended
      return typeof answer === 'function' ? answer(request) : Promise.resolve(answer)
    },
  }
  const talk = conversation({ unfinished, wrap: (journal): Journal => ({ ...journal, children }) })
  return { talk, requests }
}

describe('subagents that a journal runs', () => {
  it('are started by the journal, and their outcome is reported, booked and charged', async () => {
    const { talk, requests } = hosted([ended])
    const budget = createBudget({ maxTotalTokens: 10_000 })
    const { result } = await talk.play(lead(helper('scout', [])), 'go', { budget })
    expect(requests).toMatchObject([{ agent: 'scout', key: 'run_1/d', input: 'do d', toolCallId: 'd', runId: 'run_1', background: false }])
    expect(await toldOf(talk, 'd')).toMatchObject({
      output: { value: { result: 'completed', text: 'so', steps: 3 } },
      details: { childRunId: 'elsewhere' },
    })
    expect(result.usage.inputTokens).toBe(27)
    expect(budget.left.tokens).toBe(10_000 - 39)
    expect(talk.journal.events.filter(({ type }) => type.startsWith('child'))).toMatchObject([
      { childRunId: 'elsewhere', subagent: 'scout' },
      { usage: { inputTokens: 7 } },
    ])
  })

  it('accept a session key and the background if the journal supports them', async () => {
    const input = { prompt: 'look', description: 'a look', sessionKey: 'notes-1', run_in_background: true }
    const { talk, requests } = hosted([{ kind: 'launched', childRunId: 'later', taskId: 'task_1' }], {
      sessionKeys: true,
      background: true,
    })
    const agent = agentOf([{ toolCalls: [handOver('d', 'scout', input)] }, { text: 'done' }], { subagents: [helper('scout', [])] })
    await talk.play(agent, 'go')
    expect(requests).toMatchObject([{ input: 'look', description: 'a look', sessionKey: 'notes-1', background: true }])
    expect(await toldOf(talk, 'd')).toMatchObject({
      status: 'result',
      output: { value: { task_id: 'task_1', status: 'launched', agent: 'scout', run_in_background: true } },
    })
    const [declared] = agent.model.calls[0]?.tools ?? []
    expect(declared).toMatchObject({
      inputSchema: { properties: { sessionKey: { type: 'string' }, run_in_background: { type: 'boolean' } }, required: ['prompt'] },
    })
  })

  it.each<[string, object, Partial<ChildHost>]>([
    ['a session key that the journal does not have', { sessionKey: 'a' }, { background: true }],
    ['the background that the journal does not have', { run_in_background: true }, { sessionKeys: true }],
    ['a session key that is a whole path', { sessionKey: 'a/b' }, { sessionKeys: true }],
    ['a session key that is too long', { sessionKey: 'a'.repeat(81) }, { sessionKeys: true }],
  ])('A161: %s is refused', async (_what, more, offers) => {
    const { talk, requests } = hosted([], offers)
    const agent = agentOf([{ toolCalls: [handOver('d', 'scout', { prompt: 'a', ...more })] }, { text: 'done' }], {
      subagents: [helper('scout', [])],
    })
    await talk.play(agent, 'go')
    expect(requests).toEqual([])
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'error' })
  })

  it('A165: are limited by the agents above them, wherever those run', async () => {
    const within = hosted([ended], { depth: 1, maxDepth: 2 })
    await within.talk.play(lead(helper('scout', []), { limits: { maxDepth: 9 } }), 'go')
    expect(within.requests).toMatchObject([{ maxDepth: 2 }])
    const beyond = hosted([], { depth: 2, maxDepth: 2 })
    await beyond.talk.play(lead(helper('scout', []), { limits: { maxDepth: 9 } }), 'go')
    expect(beyond.requests).toEqual([])
    expect(await toldOf(beyond.talk, 'd')).toMatchObject({ status: 'error', output: { value: expect.stringContaining('maxDepth: 2') } })
  })

  it('A164: a subagent that waits suspends its parent, and is asked again when the parent goes on', async () => {
    const pending: ChildOutcome = {
      kind: 'pending',
      childRunId: 'elsewhere',
      pendingToolCalls: [{ toolCallId: 'r', toolName: 'fetch', input: {}, path: [], agent: [] }],
      pendingApprovals: [],
    }
    const { talk, requests } = hosted([pending, pending, ended])
    const agent = lead(helper('scout', []))
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'r', path: ['d'], agent: ['scout'] }] })
    const refused = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['d'], output: 1 }] })
    expect(refused.result).toMatchObject({ reason: 'refused', error: { code: 'unknown-tool-call' } })
    expect((await talk.play(agent, undefined)).result.status).toBe('awaiting-tools')
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
    expect(requests.map(({ key }) => key)).toEqual(['run_1/d', 'run_1/d', 'run_1/d'])
    expect(talk.journal.events.filter(({ type }) => type === 'tool-execution-start')).toHaveLength(1)
  })

  it('a subagent that is running elsewhere adds no pending call or approval', async () => {
    const { talk } = hosted([pendingElsewhere, ended])
    const agent = lead(helper('scout', []))
    expect((await talk.play(agent, 'go')).result).toMatchObject({ status: 'awaiting-subagent', pendingToolCalls: [], pendingApprovals: [] })
    expect(talk.journal.events.filter(({ type }) => type === 'awaiting-tools')).toEqual([])
    expect(talk.view()).toMatchObject({ status: 'waiting-for-subagent', outcome: 'awaiting-subagent' })
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
  })

  it('decisions about the questions of a subagent are in the log of its parent', async () => {
    const questions = ['far_1', 'far_2'].map((approvalId) => ({
      approvalId,
      toolCallId: approvalId,
      toolName: 'send',
      input: {},
      inputHash: 'h',
      path: ['n'],
      agent: ['deep'],
    }))
    const asks = (pendingApprovals: typeof questions): ChildOutcome => ({
      kind: 'pending',
      childRunId: 'elsewhere',
      pendingToolCalls: [],
      pendingApprovals,
    })
    const decided = (approvalId: string, decision: 'approve' | 'deny') => ({
      decided: [{ approvalId, toolCallId: approvalId, decision, by: 'ann', agent: ['deep'] }],
    })
    const { talk, requests } = hosted([
      asks(questions),
      { ...asks(questions.slice(1)), ...decided('far_1', 'approve') },
      { ...ended, ...decided('far_2', 'deny') },
    ])
    const agent = lead(helper('scout', []))
    for (const status of ['awaiting-approval', 'awaiting-approval', 'completed'])
      expect((await talk.play(agent, talk.journal.events.length > 0 ? undefined : 'go')).result.status).toBe(status)
    expect(requests.map(({ asked }) => asked)).toEqual([[], ['far_1', 'far_2'], ['far_2']])
    expect(talk.journal.events.filter(({ type }) => type === 'approval-resolved')).toMatchObject([
      { approvalId: 'far_1', decision: 'approve', by: 'ann', agent: ['scout', 'deep'] },
      { approvalId: 'far_2', decision: 'deny', by: 'ann', agent: ['scout', 'deep'] },
    ])
  })

  it('a subagent that waits is not listed as a call to answer', async () => {
    const pending: ChildOutcome = {
      kind: 'pending',
      childRunId: 'elsewhere',
      pendingToolCalls: [{ toolCallId: 'r', toolName: 'fetch', input: {}, path: [], agent: [] }],
      pendingApprovals: [],
    }
    const { talk } = hosted([pending, pending])
    const calls = [handOver('d', 'scout'), plainCall('a', 'far'), plainCall('b', 'far')]
    const agent = agentOf([{ toolCalls: calls }], { subagents: [helper('scout', [])], tools: [remote('far')] })
    await talk.play(agent, 'go')
    const answer = { toolResults: [{ toolCallId: 'a', output: 1 }] }
    await talk.play(agent, answer)
    const { result } = await talk.play(agent, answer)
    expect(result).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'b' }], submission: { repeated: ['a'] } })
  })

  it('A163: a host that fails makes an error outcome', async () => {
    const { talk } = hosted([() => Promise.reject(new Error('no room'))])
    const { result } = await talk.play(lead(helper('scout', [])), 'go')
    expect(result.status).toBe('completed')
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'error', output: { value: 'no room' } })
  })

  it('a host that reports a takeover by another process ends the run here', async () => {
    const { talk } = hosted([() => Promise.reject(new AgentError('fenced', 'another process has taken over the run'))], {
      unfinished: true,
    })
    const agent = lead(helper('scout', []), {}, [])
    const run = talk.run(agent, 'go')
    expect(await run.result()).toMatchObject({ status: 'error', reason: 'journal-error', error: { code: 'fenced' } })
  })

  it('A107: the runtime gives up a host that does not settle when the grace period is over', async () => {
    const { talk, requests } = hosted([() => new Promise(() => undefined)])
    const run = talk.run(lead(helper('scout', []), {}, []), 'go')
    await until(() => requests.length === 1)
    run.abort()
    expect(requests[0]?.abortSignal.aborted).toBe(true)
    await talk.clock.advance(2_000)
    expect(await run.result()).toMatchObject({ status: 'aborted' })
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
  })

  it('a subagent that was not started, because the run is stopped, leaves no event', async () => {
    const { talk } = hosted([async () => (abort.abort(), { kind: 'not-started' })])
    const abort = new AbortController()
    const { result } = await talk.play(lead(helper('scout', []), {}, []), 'go', { abortSignal: abort.signal })
    expect(result).toMatchObject({ status: 'aborted' })
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
    expect(talk.journal.events.filter(({ type }) => type.startsWith('child'))).toEqual([])
  })

  it.each<['stop' | 'yield', boolean]>([
    ['stop', true],
    ['yield', false],
  ])('subagents of a run that gets a %s are stopped: %s', async (kind, stopped) => {
    let asked: ChildRequest | undefined
    const { talk } = hosted(
      [
        (request) => {
          asked = request
          abort.abort({ kind })
          return Promise.resolve(pendingElsewhere)
        },
      ],
      { unfinished: kind === 'yield' },
    )
    const abort = new AbortController()
    await talk.play(lead(helper('scout', []), {}, []), 'go', { abortSignal: abort.signal })
    expect(asked?.abortSignal.aborted).toBe(stopped)
  })

  it('a subagent that waits is stopped with its parent', async () => {
    const pending: ChildOutcome = {
      kind: 'pending',
      childRunId: 'elsewhere',
      pendingToolCalls: [],
      pendingApprovals: [{ approvalId: 'far_1', toolCallId: 'q', toolName: 'send', input: {}, inputHash: 'h', path: [], agent: [] }],
    }
    const { talk, requests } = hosted([pending, { ...ended, status: 'aborted' }])
    const agent = lead(helper('scout', []), {}, [])
    expect((await talk.play(agent, 'go')).result.status).toBe('awaiting-approval')
    const { result } = await talk.play(agent, undefined, { abortSignal: AbortSignal.abort() })
    expect(result).toMatchObject({ status: 'aborted', usage: { inputTokens: 17 } })
    expect(requests.map(({ abortSignal }) => abortSignal.aborted)).toEqual([false, true])
    expect(await toldOf(talk, 'd')).toMatchObject({ status: 'cancelled' })
    expect(talk.view().pendingApprovals).toEqual([])
  })
})
