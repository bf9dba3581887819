import type { JSONValue } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { createMemoryJournal } from '../../../src/index.ts'
import type { AgentEvent, Extension, ExtensionContext, Journal, JournalRecord } from '../../../src/index.ts'
import { agentOf, conversation } from '../../support/conversation.ts'
import { textOfRequest } from '../../support/prompts.ts'
import { echo, latch, remote } from '../../support/tools.ts'
import { extension, untyped } from './support.ts'

const call = (name: string, id = 'x', input: JSONValue = {}) => ({ toolCalls: [{ id, name, input }] })
const errorsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'error')
const stepsOf = (events: readonly AgentEvent[]) => events.filter((event) => event.type === 'orchestration-step')

describe('the context of hooks', () => {
  it('A47: describes the current state of the run and cannot be changed', async () => {
    const seen: unknown[] = []
    const contexts: ExtensionContext[] = []
    const watch = extension('watch', {
      onInput: (_event, context) => void expect(() => Object.assign(context.usage, { inputTokens: 0 })).toThrow(TypeError),
      afterModelCall: (_event, context) => {
        contexts.push(context)
        seen.push([context.step, context.usage.inputTokens, context.journal, context.isIdle(), context.model, context.instructions()])
      },
    })
    const talk = conversation()
    const agent = agentOf([call('echo'), { text: 'ok' }], { instructions: 'You help.', tools: [echo('echo').tool], extensions: [watch] })
    const act = () => Promise.reject(new Error('not here'))
    const session = { fork: act, switchTo: act, compact: act, send: act }
    const options = { sessionKey: 'key', session, context: { user: 'u' } }
    await talk.play(agent, 'go', options)
    expect(errorsOf(talk.journal.log)).toEqual([])
    const { provider, modelId } = agent.model
    expect(seen).toEqual([1, 2].map((step) => [step, step * 10, 'turn', false, { provider, modelId }, 'You help.']))
    const [context] = contexts
    expect(context).toMatchObject({ runId: 'run_1', turn: 1, agent: [], sessionKey: 'key', context: { user: 'u' } })
    expect(context?.session).toBe(session)
    expect(context?.contextUsage().tokens).toBeGreaterThan(0)
    const changes = [() => Object.assign(context ?? {}, { runId: 'x' }), () => Object.assign(context?.usage ?? {}, { inputTokens: 0 })]
    for (const change of [
      ...changes,
      () => (context?.agent as string[] | undefined)?.push('x'),
      () => Object.assign(context?.model ?? {}, { modelId: 'x' }),
    ]) {
      expect(change).toThrow(TypeError)
    }
  })

  it('A47: has the newest user message at each moment of a turn, also in another process', async () => {
    const seen: unknown[] = []
    const note = (_event: unknown, context: ExtensionContext): void => void seen.push(context.latestInput()?.content)
    const watch = extension('watch', {
      onTurnStart: note,
      onToolCall: (event, context) => (
        note(event, context),
        context.step === 1 ? context.steer('and fast').then(() => undefined) : undefined
      ),
      onAgentEnd: note,
    })
    const talk = conversation()
    const script = [{ text: 'ok' }, call('echo', 'w'), call('there'), { text: 'ok' }]
    const agent = agentOf(script, { tools: [echo('echo').tool, remote('there')], extensions: [watch] })
    await talk.play(agent, 'first')
    await talk.play(agent, 'second')
    const elsewhere = createMemoryJournal({ snapshot: JSON.parse(JSON.stringify(talk.memory.snapshot())) as JSONValue })
    await agent.run({ toolResults: [{ toolCallId: 'x', output: 'done' }] }, { journal: elsewhere }).result()
    expect(seen).toEqual(['first', 'first', 'second', 'second', 'and fast', 'and fast', 'and fast', 'and fast'])
  })

  it('A92: steers, overlays and queues follow-ups', async () => {
    const talk = conversation()
    const pending: boolean[] = []
    const busy = extension('busy', {
      onTurnStart: async ({ turn }, context) => {
        if (turn > 1) return
        await context.steer('a hint')
        await context.overlay('only now')
        await context.followUp('and then')
        pending.push(context.hasPendingInputs())
      },
    })
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], { extensions: [busy] })
    const { result } = await talk.play(agent, 'go')
    expect(result.text).toBe('two')
    const [first, second] = agent.model.calls.map(textOfRequest)
    for (const text of ['a hint', 'only now']) expect(first).toContain(text)
    expect(second).toContain('and then')
    expect(second).not.toContain('only now')
    expect(pending).toEqual([true])
  })

  it('A105: aborts the run, with the given reason', async () => {
    const talk = conversation()
    const agent = agentOf([], { extensions: [extension('stop', { onStepStart: (_event, { abort }) => abort('enough') })] })
    const { result } = await talk.play(agent, 'go')
    expect(result).toMatchObject({ status: 'aborted', reason: 'abort' })
  })

  it('waitForIdle resolves when the run has ended, and later inputs are refused', async () => {
    const talk = conversation()
    const idle = latch<unknown>()
    const wait = extension('wait', {
      onTurnStart: (_event, { waitForIdle, isIdle, steer, logStep }) => {
        void waitForIdle().then(async () => {
          await Promise.resolve()
          logStep({ name: 'late', because: 'late', sequenceIndex: 1 })
          idle.resolve([isIdle(), await steer('late')])
        })
      },
    })
    const { result } = await talk.play(agentOf([{ text: 'ok' }], { extensions: [wait] }), 'go')
    expect(await idle.promise).toEqual([true, { ok: false, reason: 'run-ended' }])
    expect(result).toMatchObject({ status: 'completed', unusedInputs: [] })
    expect(stepsOf(talk.journal.log)).toEqual([])
  })
})

describe('logStep', () => {
  const step = { name: 'plan', previous: 'idle', because: 'it was asked', sequenceIndex: 0 }

  it('writes an orchestration-step after the turn-start, stored with the next commit', async () => {
    const talk = conversation()
    const logger = extension('logger', {
      onInput: (_event, { logStep }) => logStep(step),
      onStepEnd: (_event, { logStep }) => logStep({ ...step, name: null }),
    })
    const { events } = await talk.play(agentOf([{ text: 'ok' }], { extensions: [logger] }), 'go')
    expect(stepsOf(events)).toMatchObject([step, { ...step, name: null }])
    expect(talk.types().slice(0, 4)).toEqual(['user-message', 'turn-start', 'orchestration-step', 'step-start'])
    expect(talk.types().slice(-5)).toEqual(['step-end', 'orchestration-step', 'turn-end', 'save-point', 'settled'])
  })

  it('is the only event that an extension may add', async () => {
    const talk = conversation()
    const forged = { ...step, type: 'turn-end', status: 'completed', runId: 'another' }
    const { events } = await talk.play(
      agentOf([{ text: 'ok' }], { extensions: [extension('forger', { onStepStart: (_event, { logStep }) => logStep(forged) })] }),
      'go',
    )
    const [made] = stepsOf(events)
    expect(made).toMatchObject({ ...step, runId: 'run_1' })
    expect(made).not.toHaveProperty('status')
  })

  it.each([[{ ...step, name: 1 }], [{ ...step, because: undefined }], [{ ...step, sequenceIndex: 0.5 }], [{ ...step, previous: null }]])(
    'A143: %o is refused as an error of the hook',
    async (fields) => {
      const talk = conversation()
      const wrong = untyped({ onStepStart: (_event: unknown, { logStep }: ExtensionContext) => logStep(fields as typeof step) })
      const { result } = await talk.play(agentOf([{ text: 'ok' }], { extensions: [extension('wrong', wrong)] }), 'go')
      expect(result.status).toBe('completed')
      expect(errorsOf(talk.journal.log)).toMatchObject([
        { name: 'wrong', hook: 'onStepStart', message: expect.stringContaining('logStep must be given') },
      ])
      expect(stepsOf(talk.journal.log)).toEqual([])
    },
  )
})

describe('the record of an extension', () => {
  const stateOf = async (journal: Journal) => (await journal.load()).open?.extensionState

  it('belongs to one extension, and begins empty with each turn', async () => {
    const talk = conversation()
    const seen: unknown[] = []
    const look = (name: string) => extension(name, { onAgentEnd: (_event, { state }) => void seen.push([name, { ...state }]) })
    const mine = extension('mine', {
      onStepStart: (_event, { state }) => void (state['step'] = true),
      onAgentEnd: (_event, { state }) => void seen.push(['mine', { ...state }]),
    })
    const agent = agentOf([{ text: 'one' }, { text: 'two' }], { extensions: [mine, look('other')] })
    await talk.play(agent, 'go')
    await talk.play(agent, 'again')
    expect(seen).toEqual([
      ['mine', { step: true }],
      ['other', {}],
      ['mine', { step: true }],
      ['other', {}],
    ])
  })

  it('is not stored while no extension writes to it', async () => {
    const rows: JournalRecord[] = []
    const talk = conversation({
      wrap: (journal) => ({ ...journal, commit: (records, expect) => (rows.push(...records), journal.commit(records, expect)) }),
    })
    await talk.play(agentOf([{ text: 'ok' }], { extensions: [extension('quiet', { onStepStart: () => undefined })] }), 'go')
    expect(JSON.stringify(rows)).not.toContain('extensionState')
  })

  it('A171: changes by hooks are in the next commit, whatever that is for, and still there after a crash', async () => {
    const hooks = [
      'beforeAgentStart',
      'onTurnStart',
      'onStepStart',
      'transformContext',
      'beforeModelCall',
      'onModelRequest',
      'afterModelCall',
      'onToolCall',
      'onToolResult',
      'onToolSettled',
      'onStepEnd',
    ] as const
    const written: Record<string, number> = {}
    const stored: unknown[] = []
    const write =
      (hook: string) =>
      (_event: unknown, { state }: ExtensionContext) =>
        void (state[hook] = written[hook] = (written[hook] ?? 0) + 1)
    const all = extension('all', untyped(Object.fromEntries(hooks.map((hook) => [hook, write(hook)]))))
    const talk = conversation({
      wrap: (journal) => ({
        ...journal,
        async commit(records, expect) {
          const asWritten = { ...written }
          const outcome = await journal.commit(records, expect)
          const state = await stateOf(talk.memory)
          if (state) stored.push([state, { all: asWritten }])
          return outcome
        },
      }),
    })
    const tools = [echo('a', { effect: 'pure' }).tool, echo('b', { effect: 'pure' }).tool]
    const calls = {
      toolCalls: [
        { id: '1', name: 'a', input: {} },
        { id: '2', name: 'b', input: {} },
      ],
    }
    await talk.play(agentOf([calls, { text: 'ok' }], { tools, extensions: [all] }), 'go')
    expect(Object.keys(written)).toEqual(hooks)
    expect(stored.length).toBeGreaterThan(5)
    for (const [state, asWritten] of stored as [unknown, unknown][]) expect(state).toEqual(asWritten)
  })

  it('continues in another process', async () => {
    const talk = conversation()
    const seen: unknown[] = []
    const keep = extension('keep', {
      onTurnStart: ({ resumed }, { state }) => void (resumed ? seen.push({ ...state }) : (state['first'] = { deep: [1] })),
      onSavePoint: (_event, { state }) => void (state['saved'] = true),
    })
    const agent = agentOf([call('there'), { text: 'ok' }], { tools: [remote('there')], extensions: [keep] })
    await talk.play(agent, 'go')
    const elsewhere = createMemoryJournal({ snapshot: JSON.parse(JSON.stringify(talk.memory.snapshot())) as JSONValue })
    const result = await agent.run({ toolResults: [{ toolCallId: 'x', output: 'done' }] }, { journal: elsewhere }).result()
    expect(result.status).toBe('completed')
    expect(seen).toEqual([{ first: { deep: [1] }, saved: true }])
  })

  it('makes no commit of its own while the turn runs', async () => {
    const silent = await commitsOf(extension('silent', { onToolCall: () => undefined }))
    const write = (_event: unknown, { state }: ExtensionContext) => void (state['times'] = Number(state['times'] ?? 0) + 1)
    expect(await commitsOf(extension('writing', { onToolCall: write }))).toBe(silent)
  })

  it('A33: a value that is not JSON is reported once, and the earlier value stays', async () => {
    const talk = conversation()
    const wild = extension('wild', {
      onTurnStart: (_event, { state }) => void (state['good'] = 1),
      onStepStart: (_event, { state }) => void Object.assign(state, { when: new Date(0) }),
    })
    const agent = agentOf([call('there')], { tools: [remote('there')], extensions: [wild] })
    const { result } = await talk.play(agent, 'go')
    expect(result.status).toBe('awaiting-tools')
    expect(errorsOf(talk.journal.log)).toMatchObject([
      { source: 'extension', name: 'wild', hook: 'state', message: '/when is not a JSON value (Date)', fatal: false },
    ])
    expect(await stateOf(talk.memory)).toEqual({ wild: { good: 1 } })
  })
})

async function commitsOf(...extensions: readonly Extension[]): Promise<number> {
  let commits = 0
  const talk = conversation({
    wrap: (journal) => ({ ...journal, commit: (records, expect) => (commits++, journal.commit(records, expect)) }),
  })
  const calls = { toolCalls: ['1', '2', '3'].map((id) => ({ id, name: 'echo', input: {} })) }
  await talk.play(agentOf([calls, { text: 'ok' }], { tools: [echo('echo', { effect: 'pure' }).tool], extensions }), 'go')
  return commits
}
