import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryJournal, defineTool } from '../../src/index.ts'
import type { AgentOptions, ApprovalDecision, SubmittedResult, ToolOptions } from '../../src/index.ts'
import { extension } from '../plugins/extensions/support.ts'
import { handOver, helper } from '../plugins/subagents/support.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import { mortal } from '../support/mortal.ts'
import { resultsOf } from '../support/prompts.ts'
import { echo, remote, until } from '../support/tools.ts'

type Schema = z.ZodObject<{ to: z.ZodString }>

const call = (id: string, name: string, input: JSONValue = { to: 'a@b' }) => ({ id, name, input })

function sender(options: Partial<ToolOptions<Schema>> = {}) {
  const sent: { to: string }[] = []
  const tool = defineTool({
    name: 'send',
    description: 'sends',
    inputSchema: z.object({ to: z.string() }),
    needsApproval: true,
    ...options,
    execute: (input) => (sent.push(input), 'sent'),
  })
  return { tool, sent }
}

/** Plays a turn that waits for the results of `a` and `b`, and for a decision about `x`. */
async function waiting(more: Parameters<typeof agentOf>[0] = [{ text: 'done' }], options: Partial<AgentOptions> = {}) {
  const talk = conversation()
  const { tool, sent } = sender()
  const agent = agentOf([{ toolCalls: [call('a', 'far'), call('x', 'send'), call('b', 'far')] }, ...more], {
    tools: [remote('far'), tool],
    ...options,
  })
  const { result } = await talk.play(agent, 'go')
  return { talk, agent, sent, result }
}

/** Plays a turn that waits for one result only. */
async function waitingFor(far: ReturnType<typeof remote>, options: Partial<AgentOptions> = {}) {
  const talk = conversation()
  const agent = agentOf([{ toolCalls: [call('a', far.name)] }, { text: 'done' }], { tools: [far], ...options })
  await talk.play(agent, 'go')
  return { talk, agent }
}

const approve: ApprovalDecision = { approvalId: 'approval_1', decision: 'approve' }

describe('answers', () => {
  it('A69: an answer with calls of every kind: each is treated as its kind, and pending calls win over approvals', async () => {
    const talk = conversation()
    const [near, { tool }] = [echo('near'), sender()]
    const strict = defineTool({ name: 'strict', description: '', inputSchema: z.object({ n: z.number() }), execute: () => 'never' })
    const calls = [
      call('l', 'near'),
      call('r', 'far'),
      call('x', 'send'),
      call('i', 'strict', { n: 'one' }),
      call('u', 'nowhere'),
      { id: 'v', name: 'near', input: { raw: '{"cut' } },
    ]
    const agent = agentOf([{ toolCalls: calls }, { text: 'done' }], { tools: [near.tool, remote('far'), tool, strict] })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({
      status: 'awaiting-tools',
      pendingToolCalls: [{ toolCallId: 'r' }],
      pendingApprovals: [{ toolCallId: 'x' }],
    })
    expect(near.calls).toHaveLength(1)
    expect((await talk.memory.load()).open?.calls.map(({ toolCallId, state }) => [toolCallId, state])).toEqual([
      ...[
        ['l', 'result'],
        ['r', 'remote'],
        ['x', 'pending'],
        ['i', 'error'],
        ['u', 'error'],
        ['v', 'error'],
      ],
    ])
    const half = await talk.play(agent, { toolResults: [{ toolCallId: 'r', output: 'far done' }] })
    expect(half.result).toMatchObject({ status: 'awaiting-approval', pendingToolCalls: [], submission: { missing: ['approval_1'] } })
    const { result: done } = await talk.play(agent, { approvals: [approve] })
    expect(done.status).toBe('completed')
    expect(done.messages.map((message) => (message.role === 'tool-result' ? message.toolCallId : message.role))).toEqual([
      'l',
      'r',
      'x',
      'i',
      'u',
      'v',
      'assistant',
    ])
    expect(near.calls).toHaveLength(1)
  })

  it('A72: results and decisions in one submission are checked together', async () => {
    const { talk, agent, sent } = await waiting()
    const before = talk.memory.snapshot()
    const wrong = await talk.play(agent, {
      toolResults: [
        { toolCallId: 'a', output: 1 },
        { toolCallId: 'q', output: 1 },
      ],
      approvals: [{ ...approve, inputHash: 'x' }],
    })
    expect(wrong.result).toMatchObject({
      reason: 'refused',
      error: {
        code: 'unknown-tool-call',
        refused: [
          { id: 'q', code: 'unknown-tool-call' },
          { id: 'approval_1', code: 'approval-conflict' },
        ],
      },
    })
    expect(talk.memory.snapshot()).toEqual(before)
    const right = await talk.play(agent, { toolResults: [{ toolCallId: 'b', output: 1 }], approvals: [approve] })
    expect(right.result).toMatchObject({ status: 'awaiting-tools', submission: { accepted: ['b', 'approval_1'], missing: ['a'] } })
    expect(sent).toHaveLength(1)
    const last = await talk.play(agent, {
      toolResults: [
        { toolCallId: 'a', output: 1 },
        { toolCallId: 'b', output: 1 },
      ],
      approvals: [approve],
    })
    expect(last.result).toMatchObject({ status: 'completed', submission: { accepted: ['a'], repeated: ['b', 'approval_1'], missing: [] } })
    expect(sent).toHaveLength(1)
  })

  it('S209: a pending call may be sent back with its answer, if it belongs to the call', async () => {
    const { talk, agent, result } = await waiting()
    const [a, b] = result.pendingToolCalls
    if (!a || !b) throw new Error('two calls wait')
    for (const [field, wrong] of [
      ['toolName', { ...a, toolName: 'near', output: 1 }],
      ['input', { ...a, input: { other: 1 }, output: 1 }],
      ['agent', { ...a, agent: ['other'], output: 1 }],
    ] as const) {
      const refused = await talk.play(agent, { toolResults: [wrong] })
      expect(refused.result).toMatchObject({
        reason: 'refused',
        error: { code: 'invalid-input', message: `a: ${field} differs from that of the pending call` },
      })
    }
    const answered = await talk.play(agent, {
      toolResults: [
        { ...a, output: 1 },
        { ...b, error: 'no' },
      ],
      approvals: [approve],
    })
    expect(answered.result).toMatchObject({ status: 'completed', submission: { accepted: ['a', 'b', 'approval_1'], missing: [] } })
  })

  it('S209: a pending call without an answer is refused, also if it is marked as unknown', async () => {
    const { talk, agent, result } = await waiting([])
    const [pending] = result.pendingToolCalls
    for (const given of [{ ...pending }, { ...pending, unknown: true }]) {
      expect(() => talk.run(agent, { toolResults: [given as never] })).toThrow(
        /^toolResults\[0\] must have exactly one of output, error, unknown; received .*unknown is a field of the pending call, not an answer$/,
      )
    }
  })

  it('S208: answers without the journal of their turn are refused, and the error says so', () => {
    expect(() => agentOf([]).run({ approvals: [approve] })).toThrow(
      expect.objectContaining({
        code: 'invalid-config',
        message: 'run.options.journal must be the journal of the turn that waits for these answers; received undefined',
      }),
    )
  })

  it('S208: an edited input that does not fit the schema is refused by its path', async () => {
    const { talk, agent } = await waiting([])
    const { result } = await talk.play(agent, { approvals: [{ ...approve, input: { to: 5 } }] })
    expect(result).toMatchObject({
      reason: 'refused',
      error: { code: 'invalid-input', message: expect.stringMatching(/^approval_1: the edited input is not valid; input\.to: /) as string },
    })
  })

  it.each<[string, readonly ApprovalDecision[], string, readonly string[]]>([
    ['an unknown id', [{ approvalId: 'other', decision: 'approve' }], 'unknown-approval', ['other']],
    ['another input', [{ ...approve, inputHash: 'x' }], 'approval-conflict', ['approval_1']],
    ['two decisions', [approve, { ...approve, decision: 'deny' }], 'approval-conflict', ['approval_1']],
    ['an edited input that is not valid', [{ ...approve, input: {} }], 'invalid-input', ['approval_1']],
  ])('A78: %s refuses the whole submission', async (_what, approvals, code, ids) => {
    const { talk, agent } = await waiting([])
    const before = talk.memory.snapshot()
    const { result, events } = await talk.play(agent, { approvals, toolResults: [{ toolCallId: 'a', output: 1 }] })
    expect(result).toMatchObject({ status: 'error', reason: 'refused', error: { code, refused: ids.map((id) => ({ id, code })) } })
    expect(events).toEqual([])
    expect(talk.memory.snapshot()).toEqual(before)
  })

  it('A72, A78: the same answer twice in one submission counts as one', async () => {
    const { talk, agent, sent } = await waiting([])
    const result = { toolCallId: 'a', output: 1 }
    const { result: taken } = await talk.play(agent, { toolResults: [result, result], approvals: [approve, approve] })
    expect(taken).toMatchObject({ status: 'awaiting-tools', submission: { accepted: ['a', 'approval_1'], repeated: [], missing: ['b'] } })
    expect(sent).toHaveLength(1)
  })

  it('S208: an edited input that is not an object is refused as such', async () => {
    const { talk, agent } = await waiting([])
    const { result } = await talk.play(agent, { approvals: [{ ...approve, input: 'a text' }] })
    expect(result.error?.message).toMatch(/^approval_1: the edited input is not valid; input: /)
  })

  it('A108: with a stop an edited input is still checked and stored', async () => {
    const { talk, agent } = await waiting([])
    const { result, events } = await talk.play(
      agent,
      { approvals: [{ ...approve, input: { to: 'c@d' } }] },
      { abortSignal: AbortSignal.abort() },
    )
    expect(result).toMatchObject({ status: 'aborted', submission: { accepted: ['approval_1'] } })
    expect(events.find(({ type }) => type === 'approval-resolved')).toMatchObject({ decision: 'approve', editedInput: { to: 'c@d' } })
  })

  it('A107: a schema that hangs on an edited input does not keep a stopped run from ending', async () => {
    let asked = false
    const inputSchema = z
      .object({ to: z.string() })
      .refine(async ({ to }) => to === 'a@b' || new Promise<boolean>(() => void (asked = true)))
    const talk = conversation()
    const agent = agentOf([{ toolCalls: [call('x', 'send', { to: 'a@b' })] }], { tools: [sender({ inputSchema }).tool] })
    await talk.play(agent, 'go')
    const run = talk.run(agent, { approvals: [{ ...approve, input: { to: 'c@d' } }] })
    await until(() => asked)
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted' })
  })

  it('A72: refuses an answer to a call that the runtime may run again', async () => {
    const { talk, revive } = mortal('tool-execution-end', 'before')
    const pure = echo('pure', { effect: 'pure' })
    const tools = [pure.tool, remote('far')]
    await talk.play(agentOf([{ toolCalls: [call('p', 'pure'), call('a', 'far')] }], { tools }), 'go')
    revive()
    const { result } = await talk.play(agentOf([], { tools }), { toolResults: [{ toolCallId: 'p', output: 'other' }] })
    expect(result).toMatchObject({ reason: 'refused', error: { code: 'unknown-tool-call', refused: [{ id: 'p' }] } })
  })

  it('A78: the same decision is a repeat and a different one a conflict, also after the turn has gone on', async () => {
    const { talk, agent, result } = await waiting()
    const { inputHash = '' } = result.pendingApprovals[0] ?? {}
    const edited = { ...approve, input: { to: 'c@d' }, reason: 'fine' }
    await talk.play(agent, { approvals: [edited] })
    const commits = talk.journal.commits.length
    const judged = async () => {
      const again = await talk.play(agent, {
        approvals: [{ reason: 'fine', input: { to: 'c@d' }, approvalId: 'approval_1', decision: 'approve', inputHash, by: 'eve' }],
      })
      expect(again).toMatchObject({ events: [], result: { submission: { accepted: [], repeated: ['approval_1'] } } })
      for (const other of [
        { ...approve },
        { ...edited, reason: 'other' },
        { ...edited, input: { to: 'e@f' } },
        { approvalId: 'approval_1', decision: 'deny' as const },
        { ...edited, inputHash: 'x' },
      ]) {
        const conflict = await talk.play(agent, { approvals: [other] })
        expect(conflict.result).toMatchObject({ reason: 'refused', error: { code: 'approval-conflict' } })
      }
      return again.result
    }
    expect(await judged()).toMatchObject({ status: 'awaiting-tools', submission: { missing: ['a', 'b'] } })
    await talk.play(agent, {
      toolResults: [
        { toolCallId: 'a', output: 1 },
        { toolCallId: 'b', output: 1 },
      ],
    })
    expect(await judged()).toMatchObject({ status: 'completed', reason: 'handled', submission: { missing: [] } })
    expect(talk.journal.commits.length).toBeGreaterThan(commits)
    const elsewhere = createMemoryJournal({ snapshot: talk.memory.snapshot() })
    expect((await agent.run({ approvals: [edited] }, { journal: elsewhere }).result()).submission).toMatchObject({
      repeated: ['approval_1'],
    })
  })

  const long = 'x'.repeat(300)
  it.each<[string, Partial<AgentOptions>, Partial<ToolOptions<object>>, SubmittedResult, SubmittedResult]>([
    [
      'hooks have patched',
      { extensions: [extension('patch', { onToolResult: () => ({ output: 'redacted', details: { by: 'patch' } }) })] },
      {},
      { toolCallId: 'a', output: 'secret' },
      { toolCallId: 'a', output: 'redacted' },
    ],
    [
      'is shown to the model in another form',
      {},
      { toModelOutput: () => ({ type: 'text', value: 'shown' }) },
      { toolCallId: 'a', output: { n: 1 } },
      { toolCallId: 'a', output: 'shown' },
    ],
    ['was too long', {}, { maxOutputCharacters: 100 }, { toolCallId: 'a', output: long }, { toolCallId: 'a', output: long.slice(1) }],
    ['is an error', {}, {}, { toolCallId: 'a', error: 'no' }, { toolCallId: 'a', output: 'no' }],
  ])(
    'A72: the repeat of a result that %s is recognized, also after the turn has gone on',
    async (_what, options, toolOptions, answer, other) => {
      const far = defineTool({ name: 'far', description: '', inputSchema: {}, ...toolOptions })
      const talk = conversation()
      const agent = agentOf([{ toolCalls: [call('a', 'far'), call('b', 'far')] }, { text: 'done' }], { tools: [far], ...options })
      await talk.play(agent, 'go')
      await talk.play(agent, { toolResults: [answer] })
      const repeated = async (result: SubmittedResult) => (await talk.play(agent, { toolResults: [result] })).result.submission?.repeated
      expect([await repeated(answer), await repeated(other)]).toEqual([['a'], undefined])
      expect((await talk.play(agent, { toolResults: [{ toolCallId: 'b', output: 1 }] })).result.status).toBe('completed')
      expect([await repeated(answer), await repeated(other)]).toEqual([['a'], undefined])
    },
  )

  it('A72: error is a short form of output with isError', async () => {
    const { talk, agent } = await waitingFor(remote('far'))
    await talk.play(agent, { toolResults: [{ toolCallId: 'a', error: 'no' }] })
    const again = await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: 'no', isError: true }] })
    expect(again.result.submission).toMatchObject({ repeated: ['a'] })
  })

  it('A72: refuses a result for a call that ran here', async () => {
    const talk = conversation()
    const near = echo('near')
    const agent = agentOf([{ toolCalls: [call('n', 'near'), call('a', 'far')] }], { tools: [near.tool, remote('far')] })
    await talk.play(agent, 'go')
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'n', output: 'other' }] })
    expect(result).toMatchObject({ reason: 'refused', error: { code: 'tool-result-conflict' } })
  })

  it('A72: answers to a conversation without an open turn are unknown', async () => {
    const talk = conversation()
    const agent = agentOf([])
    const { result, events } = await talk.play(agent, { toolResults: [{ toolCallId: 'a', output: 1 }], approvals: [approve] })
    expect(result).toMatchObject({
      reason: 'refused',
      error: {
        refused: [
          { id: 'a', code: 'unknown-tool-call' },
          { id: 'approval_1', code: 'unknown-approval' },
        ],
      },
    })
    expect(events).toEqual([])
  })

  it('A73: a call past its deadline is not missing: it gets its outcome in the run that takes the other answers', async () => {
    const talk = conversation()
    const { tool } = sender({ approvalTimeoutMs: 500 })
    const tools = [remote('far', { timeoutMs: 500 }), remote('patient'), tool]
    const agent = agentOf([{ toolCalls: [call('a', 'far'), call('x', 'send'), call('p', 'patient')] }, { text: 'done' }], { tools })
    await talk.play(agent, 'go')
    await talk.clock.advance(500)
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'p', output: 1 }] })
    expect(result).toMatchObject({ status: 'completed', submission: { accepted: ['p'], missing: [] } })
    expect(resultsOf(agent.model.calls[1]).map(({ output }) => (output as { type: string }).type)).toEqual([
      'error-text',
      'execution-denied',
      'json',
    ])
  })

  it('A70: results reach onToolResult and guardrails like all others', async () => {
    const seen: unknown[] = []
    const watch = extension('watch', {
      onToolResult: ({ call: { toolCallId }, status, result }) => void seen.push([toolCallId, status, result.executed]),
    })
    const { talk, agent } = await waiting(undefined, { extensions: [watch] })
    await talk.play(agent, {
      toolResults: [
        { toolCallId: 'b', output: 1 },
        { toolCallId: 'a', error: 'no' },
      ],
      approvals: [{ ...approve, decision: 'deny' }],
    })
    expect(seen).toEqual([
      ['x', 'denied', 'no'],
      ['b', 'result', 'elsewhere'],
      ['a', 'error', 'elsewhere'],
    ])
  })
})

describe('answers to a turn whose subagent waits', () => {
  async function waitingBelow() {
    const talk = conversation()
    const far = helper('far', [{ toolCalls: [call('r', 'fetch')] }, { text: 'far is done' }], { tools: [remote('fetch')] })
    const agent = agentOf([{ toolCalls: [handOver('f', 'far'), call('o', 'own')] }], { tools: [remote('own')], subagents: [far] })
    const { result } = await talk.play(agent, 'go')
    const [listed] = result.pendingToolCalls
    if (listed?.toolCallId !== 'r') throw new Error('the call of the subagent waits')
    return { talk, agent, listed }
  }

  it('A72: the call of a subagent cannot be answered itself, and is not missing', async () => {
    const { talk, agent } = await waitingBelow()
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'f', output: 'made up' }] })
    expect(result).toMatchObject({ reason: 'refused', error: { code: 'unknown-tool-call', refused: [{ id: 'f' }] } })
    const answered = await talk.play(agent, { toolResults: [{ toolCallId: 'r', path: ['f'], output: 'fetched' }] })
    expect(answered.result.submission).toEqual({ accepted: ['r'], repeated: [], missing: ['o'] })
  })

  it('S209: a pending call of a subagent is sent back as the root lists it, and must belong to this subagent', async () => {
    const { talk, agent, listed } = await waitingBelow()
    for (const wrong of [[], ['near'], ['far', 'far']]) {
      const refused = await talk.play(agent, { toolResults: [{ ...listed, agent: wrong, output: 'fetched' }] })
      expect(refused.result).toMatchObject({
        reason: 'refused',
        error: { code: 'invalid-input', message: 'r: agent differs from that of the pending call' },
      })
    }
    const { result } = await talk.play(agent, { toolResults: [{ ...listed, output: 'fetched' }] })
    expect(result.submission).toMatchObject({ accepted: ['r'] })
  })
})

describe('answers to a turn that must not go on', () => {
  it('A108: with a stop they are still stored, and the other calls are cancelled', async () => {
    const { talk, agent, sent } = await waiting([])
    const { result } = await talk.play(
      agent,
      { toolResults: [{ toolCallId: 'a', output: 'kept' }], approvals: [approve] },
      { abortSignal: AbortSignal.abort() },
    )
    expect(result).toMatchObject({ status: 'aborted', submission: { accepted: ['a', 'approval_1'] } })
    expect(result.messages).toMatchObject([
      { toolCallId: 'a', status: 'result' },
      { toolCallId: 'x', status: 'cancelled' },
      { toolCallId: 'b', status: 'cancelled' },
    ])
    expect(sent).toEqual([])
  })

  it('A179: with a yield they are stored, and nothing else happens', async () => {
    const { talk, agent, sent } = await waiting([])
    const leaving = AbortSignal.abort({ kind: 'yield' })
    const answers = {
      toolResults: [
        { toolCallId: 'a', output: 1 },
        { toolCallId: 'b', output: 1 },
      ],
      approvals: [approve],
    }
    const journal = createMemoryJournal({ snapshot: talk.memory.snapshot() })
    const result = await agent.run(answers, { journal, abortSignal: leaving }).result()
    expect(result).toMatchObject({ status: 'aborted', reason: 'yielded', submission: { accepted: ['a', 'b', 'approval_1'] } })
    expect(sent).toEqual([])
    const next = agentOf([{ text: 'done' }], { tools: [remote('far'), sender().tool] })
    const again = await next.run(answers, { journal }).result()
    expect(again).toMatchObject({ status: 'aborted', reason: 'yielded', submission: { repeated: ['a', 'b', 'approval_1'] } })
    expect(await next.run(undefined, { journal }).result()).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('A75: with cancel, open calls are cancelled before the new input is stored', async () => {
    const { talk, agent, sent } = await waiting()
    const { result, events } = await talk.play(agent, 'never mind', { onInputWhilePending: 'cancel' })
    expect(result).toMatchObject({ status: 'completed', text: 'done', runId: 'run_2' })
    expect(events.map(({ type }) => type).slice(0, 12)).toEqual([
      ...[
        'turn-start',
        'tool-execution-end',
        'approval-resolved',
        'tool-execution-end',
        'tool-execution-end',
        'step-end',
        'turn-end',
        'save-point',
      ],
      // There is no `settled`: the new input follows.
      ...['user-message', 'turn-start', 'step-start', 'message-start'],
    ])
    expect(events[6]).toMatchObject({
      status: 'aborted',
      runId: 'run_1',
      receipt: [{ status: 'cancelled' }, { status: 'cancelled' }, { status: 'cancelled' }],
    })
    expect((await talk.memory.load()).messages.map((message) => (message.role === 'tool-result' ? message.status : message.role))).toEqual([
      ...['user', 'assistant', 'cancelled', 'cancelled', 'cancelled', 'user', 'assistant'],
    ])
    expect(sent).toEqual([])
  })

  it('A75: an input that cannot be stored cancels no open call', async () => {
    const { talk, agent } = await waiting([])
    const before = talk.memory.snapshot()
    const input = { role: 'user' as const, id: 'msg_1', content: 'again' }
    const { result } = await talk.play(agent, input, { onInputWhilePending: 'cancel' })
    expect(result).toMatchObject({ reason: 'refused', error: { code: 'invalid-transcript' } })
    expect(talk.memory.snapshot()).toEqual(before)
  })
})
