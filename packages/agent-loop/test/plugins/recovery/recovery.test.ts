import type { JSONSchema7 } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineTool } from '../../../src/index.ts'
import type { ModelFunctionMessage, Reconciled, ToolEffect, ToolOptions } from '../../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import { agentOf, conversation } from '../../support/conversation.ts'
import type { Conversation } from '../../support/conversation.ts'
import { mortal } from '../../support/mortal.ts'
import { resultsOf } from '../../support/prompts.ts'
import { echo, gated, remote, until } from '../../support/tools.ts'
import { extension } from '../extensions/support.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

/** Plays a conversation whose process died after the tool `t` had started. Returns the calls that have run. */
async function diedInTool(effect: ToolEffect, options: Partial<ToolOptions<object>> = {}, extra: ReturnType<typeof call>[] = []) {
  const runs: string[] = []
  const t = defineTool({
    name: 't',
    description: '',
    inputSchema: {},
    effect,
    ...options,
    execute: (_input, { idempotencyKey, attempt }) => {
      runs.push(`${idempotencyKey} ${attempt}`)
      return 'ran'
    },
  })
  const others = [remote('far'), echo('a').tool]
  let crash = true
  const talk: Conversation = conversation({
    unfinished: true,
    wrap: (journal) => {
      const crashing = crashingJournal(journal, { commit: 3, when: 'before' })
      return { ...journal, commit: (records, expect) => (crash ? crashing : journal).commit(records, expect) }
    },
  })
  const first = await talk.play(agentOf([{ toolCalls: [call('x', 't'), ...extra] }], { tools: [t, ...others] }), 'go')
  expect(first.result.reason).toBe('journal-error')
  crash = false
  return { talk, runs, tools: [t, ...others] }
}

describe('re-entry', () => {
  it('A39: an open message is withdrawn, its usage estimated, and the model call repeated', async () => {
    let commits = 0
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => (++commits === 2 ? Promise.reject(new Error('died')) : journal.commit(records, expect)),
      }),
    })
    await talk.play(agentOf([{ text: 'lost' }]), 'go')
    expect((await talk.memory.load()).open).toMatchObject({ openMessageId: 'msg_2', step: 1 })
    const { result, events } = await talk.play(agentOf([{ text: 'again' }]), undefined)
    expect(result).toMatchObject({ status: 'completed', text: 'again', runId: 'run_1', steps: 1 })
    expect(events.filter((event) => event.seq !== undefined).map(({ type }) => type)).toEqual([
      ...['turn-start', 'message-discarded', 'usage', 'message-start', 'message-end', 'step-end', 'turn-end', 'save-point', 'settled'],
    ])
    expect(events[0]).toMatchObject({ resumed: true, attempt: 2, cause: 'recovery', turn: 1 })
    expect(events[1]).toMatchObject({ messageId: 'msg_2', reason: 'crash' })
    expect(events[2]).toMatchObject({ purpose: 'discarded-attempt', estimated: true, usage: { estimated: true } })
    expect(events[3]).toMatchObject({ messageId: 'msg_3', attempt: 1 })
  })

  it('A51: a call outside the active tools of its step does not run after a crash', async () => {
    const { talk, revive } = mortal('tool-execution-end', 'before')
    const [a, b] = [echo('a'), echo('b')]
    const options = { tools: [a.tool, b.tool], prepareStep: () => ({ activeTools: ['a'] }) }
    // The extension is asked about each call, so the answer is stored before.
    const extensions = [extension('asks', { onToolCall: () => undefined })]
    await talk.play(agentOf([{ toolCalls: [call('x', 'b')] }], { ...options, extensions }), 'go')
    revive()
    const { result } = await talk.play(agentOf([{ text: 'done' }], { ...options, extensions }), undefined)
    expect(result.status).toBe('completed')
    expect((await talk.memory.load()).messages.filter(({ role }) => role === 'tool-result')).toMatchObject([
      { toolCallId: 'x', status: 'error' },
    ])
    expect(b.calls).toEqual([])
  })

  it('A172: a started once call without an outcome is not executed again', async () => {
    const { talk, runs, tools } = await diedInTool('once')
    await talk.play(agentOf([], { tools }), undefined)
    await talk.play(agentOf([], { tools }), undefined)
    expect(runs).toEqual(['run_1/1/x 1'])
  })

  it.each<[string, Partial<ToolOptions<object>>['reconcile'], number, string]>([
    ['happened', () => Promise.resolve({ happened: true, result: 'found' }), 1, 'found'],
    ['did not happen', () => Promise.resolve({ happened: false }), 2, 'ran'],
  ])('A172: the answer of reconcile that it %s decides', async (_what, reconcile, runsExpected, output) => {
    const { talk, runs, tools } = await diedInTool('once', { ...(reconcile && { reconcile }) })
    const agent = agentOf([{ text: 'done' }], { tools })
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
    expect(runs).toHaveLength(runsExpected)
    expect(resultsOf(agent.model.calls[0])).toEqual([{ id: 'x', output: { type: 'text', value: output } }])
  })

  it.each<[string, () => Promise<Reconciled>]>([
    ['cannot say', () => Promise.resolve({ happened: 'unknown' })],
    ['throws', () => Promise.reject(new Error('no answer'))],
    ['answers nonsense', () => Promise.resolve({ happened: 'maybe' } as never)],
  ])('A172: reconcile that %s leaves the call unknown', async (_what, reconcile) => {
    const { talk, runs, tools } = await diedInTool('once', { reconcile })
    expect((await talk.play(agentOf([], { tools }), undefined)).result.status).toBe('needs-recovery')
    expect(runs).toHaveLength(1)
  })

  /** Creates a tool whose `reconcile` never answers, and a list of the signals that it gets. */
  function silentReconcile() {
    const signals: AbortSignal[] = []
    const reconcile: ToolOptions<object>['reconcile'] = (_input, { abortSignal }) => (signals.push(abortSignal), new Promise(() => {}))
    return { signals, reconcile }
  }

  it('A172: a reconcile without an answer within the timeout of its tool leaves the call unknown', async () => {
    const { signals, reconcile } = silentReconcile()
    const { talk, runs, tools } = await diedInTool('once', { timeoutMs: 1_000, reconcile })
    const run = talk.run(agentOf([], { tools }), undefined)
    await until(() => signals.length === 1)
    await talk.clock.advance(999)
    expect(signals[0]?.aborted).toBe(false)
    await talk.clock.advance(1)
    expect((await run.result()).status).toBe('needs-recovery')
    expect(signals[0]?.aborted).toBe(true)
    expect(runs).toHaveLength(1)
  })

  it('A107: an abort does not wait for reconcile', async () => {
    const { signals, reconcile } = silentReconcile()
    const { talk, tools } = await diedInTool('once', { timeoutMs: null, reconcile })
    const run = talk.run(agentOf([], { tools }), undefined)
    await until(() => signals.length === 1)
    run.abort()
    expect(await run.result()).toMatchObject({ status: 'aborted', messages: [{ status: 'unknown' }] })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
  })

  it('A172: the signal of a reconcile that has answered is not aborted later', async () => {
    const signals: AbortSignal[] = []
    const reconcile: ToolOptions<object>['reconcile'] = (_input, { abortSignal }) => (
      signals.push(abortSignal),
      Promise.resolve({ happened: true, result: 'found' })
    )
    const { talk, tools } = await diedInTool('once', { reconcile })
    const run = talk.run(agentOf([{ text: 'one two', chunk: 2, hang: 'middle' }], { tools }), undefined)
    await until(() => talk.types().includes('text-delta'))
    run.abort()
    expect((await run.result()).status).toBe('aborted')
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  it.each([
    ['stop', 'aborted'],
    ['yield', 'yielded'],
  ] as const)('A172: after a %s the tool is not asked to reconcile its call', async (kind, ended) => {
    let validated = (): void => undefined
    const inputSchema = z.object({}).refine(async () => (validated(), Promise.resolve(true)))
    const { signals, reconcile } = silentReconcile()
    const { talk, runs, tools } = await diedInTool('once', { inputSchema, timeoutMs: null, reconcile })
    const controller = new AbortController()
    validated = () => controller.abort({ kind })
    const { result } = await talk.play(agentOf([], { tools }), undefined, { abortSignal: controller.signal })
    expect(result).toMatchObject(kind === 'stop' ? { status: ended, messages: [{ status: 'unknown' }] } : { reason: ended })
    expect([signals, runs.length]).toEqual([[], 1])
  })

  it('A172: reconcile gets the input with which the call was started, and its key', async () => {
    const { talk, revive } = mortal('tool-execution-end', 'before')
    const seen: unknown[] = []
    const reconcile: ToolOptions<object>['reconcile'] = (input, { toolCallId, idempotencyKey, attempt }) => {
      seen.push({ input, toolCallId, idempotencyKey, attempt })
      return Promise.resolve({ happened: true, result: 'found' })
    }
    const send = defineTool({
      name: 'send',
      description: '',
      inputSchema: {},
      effect: 'once',
      needsApproval: true,
      reconcile,
      execute: () => 'sent',
    })
    const agent = (steps: Parameters<typeof agentOf>[0]) => agentOf(steps, { tools: [send] })
    await talk.play(agent([{ toolCalls: [call('x', 'send')] }]), 'go')
    const approvals = [{ approvalId: 'approval_1', decision: 'approve' as const, input: { edited: 1 } }]
    expect((await talk.run(agent([]), { approvals }).result()).reason).toBe('journal-error')
    revive()
    expect((await talk.play(agent([{ text: 'done' }]), undefined)).result.status).toBe('completed')
    expect(seen).toEqual([{ input: { edited: 1 }, toolCallId: 'x', idempotencyKey: 'run_1/1/x', attempt: 1 }])
  })

  it.each<ToolEffect>(['pure', 'idempotent'])(
    'A173: a started %s call runs again with the same key and the next attempt number',
    async (effect) => {
      const { talk, runs, tools } = await diedInTool(effect)
      const { result } = await talk.play(agentOf([{ text: 'done' }], { tools }), undefined)
      expect(result.status).toBe('completed')
      expect(runs).toEqual(['run_1/1/x 1', 'run_1/1/x 2'])
      const starts = talk.journal.events.filter((event) => event.type === 'tool-execution-start')
      expect(starts.map(({ attempt, idempotencyKey }) => [attempt, idempotencyKey])).toEqual([
        [1, 'run_1/1/x'],
        [2, 'run_1/1/x'],
      ])
    },
  )

  it('A174: a pending call is prepared again and then run, whatever its effect', async () => {
    const wait = gated('wait', { effect: 'once', concurrency: 1 })
    let dead = false
    const talk = conversation({
      unfinished: true,
      wrap: (journal) => ({
        ...journal,
        commit: (records, expect) => (dead ? Promise.reject(new Error('died')) : journal.commit(records, expect)),
      }),
    })
    const run = talk.run(
      agentOf([{ toolCalls: [call('x', 'wait'), call('y', 'wait')] }], { tools: [wait.tool], onUnknownOutcome: 'tell-model' }),
      'go',
    )
    await until(() => wait.started.length === 1)
    dead = true
    wait.open('x')
    await run.result()
    dead = false
    const agent = agentOf([{ text: 'done' }], { tools: [wait.tool], onUnknownOutcome: 'tell-model' })
    const second = talk.run(agent, undefined)
    await until(() => wait.started.length === 2)
    wait.open('y')
    expect((await second.result()).status).toBe('completed')
    expect(wait.started).toEqual(['x', 'y'])
    expect(resultsOf(agent.model.calls[0]).map(({ output }) => (output as { type: string }).type)).toEqual(['error-text', 'text'])
  })

  it('A174: a pending call whose tool is gone gets an error that says so', async () => {
    const { talk } = await diedInTool('pure')
    const agent = agentOf([{ text: 'done' }], { tools: [remote('far')] })
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
    expect(resultsOf(agent.model.calls[0])).toEqual([{ id: 'x', output: { type: 'error-text', value: 'there is no tool named "t"' } }])
  })

  it('A8: calls that a model function ran itself are not run by another process', async () => {
    const { talk, revive } = mortal('tool-execution-end', 'before')
    const own = echo('own')
    const answers: ModelFunctionMessage[] = [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'x', toolName: 'own', input: {} }] },
      { role: 'tool-result', toolCallId: 'x', toolName: 'own', output: { type: 'text', value: 'mine' } },
    ]
    const agent = defineAgent({
      model: () => Promise.resolve(answers),
      tools: [own.tool],
      extensions: [extension('e', { afterModelCall: () => {} })],
    })
    expect((await talk.run(agent, 'go').result()).reason).toBe('journal-error')
    revive()
    expect(await talk.run(agent, undefined).result()).toMatchObject({ status: 'awaiting-tools', pendingToolCalls: [{ toolCallId: 'x' }] })
    expect(own.calls).toEqual([])
  })

  it('A174: hooks see the input as the model wrote it, without their earlier changes', async () => {
    const { talk, revive } = mortal('tool-execution-end', 'before')
    const inputs: unknown[] = []
    const slow = defineTool({
      name: 'slow',
      description: '',
      inputSchema: {},
      effect: 'pure',
      concurrency: 1,
      execute: (input) => (inputs.push(input), 'ran'),
    })
    const grow = extension('grow', {
      onToolCall: ({ input }) => ({
        action: 'modify',
        input: { ...(input as object), times: Number((input as { times?: number }).times ?? 0) + 1 },
      }),
    })
    const agent = (steps: Parameters<typeof agentOf>[0]) => agentOf(steps, { tools: [slow], extensions: [grow] })
    await talk.run(agent([{ toolCalls: [call('x', 'slow'), call('y', 'slow')] }]), 'go').result()
    revive()
    expect((await talk.play(agent([{ text: 'done' }]), undefined)).result.status).toBe('completed')
    expect(inputs).toEqual([{ times: 1 }, { times: 1 }, { times: 1 }])
  })

  it.each([
    ['started', 1],
    ['waiting behind another', 2],
  ])('A79: a call with an edited input that was %s gets that input after a crash', async (_what, nth) => {
    const { talk, revive } = mortal('tool-execution-end', 'before')
    const inputs: unknown[] = []
    const send = defineTool({
      name: 'send',
      description: '',
      inputSchema: {},
      effect: 'idempotent',
      needsApproval: true,
      concurrency: 1,
      execute: (input) => (inputs.push(input), 'sent'),
    })
    const agent = (steps: Parameters<typeof agentOf>[0]) => agentOf(steps, { tools: [send] })
    await talk.play(agent([{ toolCalls: [call('x', 'send'), call('y', 'send')] }]), 'go')
    const approvals = [1, 2].map((place) => ({ approvalId: `approval_${place}`, decision: 'approve' as const, input: { edited: place } }))
    expect((await talk.run(agent([]), { approvals }).result()).reason).toBe('journal-error')
    revive()
    expect((await talk.play(agent([{ text: 'done' }]), undefined)).result.status).toBe('completed')
    expect(inputs.slice(1)).toEqual([{ edited: 1 }, { edited: 2 }])
    const starts = talk.journal.events.filter((event) => event.type === 'tool-execution-start')
    expect(starts.at(-3 + nth)).toMatchObject({ input: { edited: nth } })
  })

  it('A173: a repeated call gets the input of its intent, checked by the schema of the current code', async () => {
    const { talk, revive } = mortal('tool-execution-end', 'before')
    const made = (inputSchema: JSONSchema7) => defineTool({ name: 't', description: '', inputSchema, effect: 'pure', execute: () => 'ran' })
    await talk.run(agentOf([{ toolCalls: [call('x', 't')] }], { tools: [made({})] }), 'go').result()
    revive()
    const agent = agentOf([{ text: 'done' }], { tools: [made({ type: 'object', required: ['more'] })] })
    expect((await talk.play(agent, undefined)).result.status).toBe('completed')
    expect(JSON.stringify(resultsOf(agent.model.calls[0]))).toContain('not valid')
  })

  it('A175: with stop the run needs recovery without a model call, and a submitted result lets it go on', async () => {
    const { talk, tools } = await diedInTool('once')
    const { result } = await talk.play(agentOf([], { tools }), undefined)
    expect(result).toMatchObject({ status: 'needs-recovery', reason: 'unknown-outcome' })
    expect(result.pendingToolCalls).toEqual([{ toolCallId: 'x', toolName: 't', input: {}, path: [], agent: [], unknown: true }])
    expect(talk.view()).toMatchObject({ status: 'needs-recovery', pendingToolCalls: [{ unknown: true }] })
    const agent = agentOf([{ text: 'done' }], { tools })
    const answered = await talk.play(agent, { toolResults: [{ toolCallId: 'x', output: 'looked it up' }] })
    expect(answered.result).toMatchObject({ status: 'completed', text: 'done' })
    expect(resultsOf(agent.model.calls[0])).toEqual([{ id: 'x', output: { type: 'text', value: 'looked it up' } }])
  })

  it('A175: an answer can settle a call as unknown, and the run goes on as with tell-model', async () => {
    const { talk, tools } = await diedInTool('once')
    await talk.play(agentOf([], { tools }), undefined)
    const agent = agentOf([{ text: 'done' }], { tools })
    const { result } = await talk.play(agent, { toolResults: [{ toolCallId: 'x', unknown: true }] })
    expect(result.status).toBe('completed')
    expect(result.messages[0]).toMatchObject({ role: 'tool-result', status: 'unknown' })
    expect(JSON.stringify(resultsOf(agent.model.calls[0]))).toContain('may or may not have happened')
  })

  it('A175: needs-recovery wins over pending calls, and both are listed', async () => {
    const { talk, tools } = await diedInTool('once', {}, [call('r', 'far')])
    const { result } = await talk.play(agentOf([], { tools }), undefined)
    expect(result.status).toBe('needs-recovery')
    expect(result.pendingToolCalls.map(({ toolCallId, unknown }) => [toolCallId, unknown])).toEqual([
      ['x', true],
      ['r', undefined],
    ])
    const half = await talk.play(agentOf([], { tools }), { toolResults: [{ toolCallId: 'x', output: 1 }] })
    expect(half.result).toMatchObject({ status: 'awaiting-tools', submission: { missing: ['r'] } })
  })

  it('A176: with tell-model the outcome is unknown and the next request says so', async () => {
    const { talk, runs, tools } = await diedInTool('once')
    const agent = agentOf([{ text: 'done' }], { tools })
    const { result } = await talk.play(agent, undefined, { onUnknownOutcome: 'tell-model' })
    expect(result.status).toBe('completed')
    expect(JSON.stringify(resultsOf(agent.model.calls[0]))).toContain('may or may not have happened')
    expect(runs).toHaveLength(1)
  })

  it("A176: a tool's own policy wins over the run's", async () => {
    const { talk, tools } = await diedInTool('once', { onUnknownOutcome: 'stop' })
    expect((await talk.play(agentOf([], { tools }), undefined, { onUnknownOutcome: 'tell-model' })).result.status).toBe('needs-recovery')
  })

  it('a stop of a turn that needs recovery settles its call as unknown', async () => {
    const { talk, tools } = await diedInTool('once')
    await talk.play(agentOf([], { tools }), undefined)
    const { result } = await talk.play(agentOf([], { tools }), undefined, { abortSignal: AbortSignal.abort() })
    expect(result).toMatchObject({ status: 'aborted' })
    expect(result.messages[0]).toMatchObject({ status: 'unknown' })
  })

  it('A178: with nothing open a run is refused, without event and commit', async () => {
    const talk = conversation()
    const empty = await talk.play(agentOf([]), undefined)
    expect(empty).toMatchObject({ events: [], result: { status: 'error', reason: 'refused', error: { code: 'nothing-to-run' } } })
    await talk.play(agentOf([{ text: 'x' }]), 'go')
    const commits = talk.journal.commits.length
    expect((await talk.play(agentOf([]), undefined)).result.error).toMatchObject({ code: 'nothing-to-run' })
    expect(talk.journal.commits).toHaveLength(commits)
  })
})
