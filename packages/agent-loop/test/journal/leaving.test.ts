import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import { describe, expect, it } from 'vitest'
import { createMemoryJournal, defineAgent, defineTool } from '../../src/index.ts'
import type { AbortCause, AgentOptions, Journal, StoredMessage, ToolOptions } from '../../src/index.ts'
import { crashingJournal } from '@bowline/testing'
import { extension } from '../plugins/extensions/support.ts'
import { guardrail } from '../plugins/guardrails/support.ts'
import { agentOf, conversation } from '../support/conversation.ts'
import type { Conversation } from '../support/conversation.ts'
import { rolesOf } from '../support/prompts.ts'
import { gated, until } from '../support/tools.ts'

const call = (id: string, name: string) => ({ id, name, input: {} })

function leavable(cause: AbortCause) {
  const controller = new AbortController()
  const talk = conversation({ unfinished: true, wrap: (journal: Journal) => ({ ...journal, abortSignal: controller.signal }) })
  return { talk, leave: () => controller.abort(cause) }
}

describe('leaving', () => {
  it('A179: a yield in the model call commits no end, and the turn goes on in another process', async () => {
    const { talk, leave } = leavable({ kind: 'yield' })
    const run = talk.run(agentOf([{ text: 'one two', chunk: 2, hang: 'middle' }]), 'go')
    await until(() => talk.types().includes('text-delta'))
    leave()
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect(talk.journal.commits).toHaveLength(1)
    const elsewhere = createMemoryJournal({ snapshot: talk.memory.snapshot() })
    const agent = agentOf([{ text: 'whole' }])
    const outcome = await agent.run(undefined, { journal: elsewhere }).result()
    expect(outcome).toMatchObject({ status: 'completed', text: 'whole', runId: 'run_1' })
    expect(rolesOf(agent.model.calls[0])).toEqual(['user'])
  })

  it('A179: a yield while tools run commits the outcomes that arrive in the grace period, and nothing else', async () => {
    const { talk, leave } = leavable({ kind: 'yield' })
    const wait = gated('wait', { effect: 'idempotent' })
    const steps = [{ toolCalls: [call('x', 'wait'), call('y', 'wait')] }]
    const run = talk.run(agentOf(steps, { tools: [wait.tool] }), 'go')
    await until(() => wait.started.length === 2)
    leave()
    wait.open('x')
    await until(() => talk.types().includes('tool-execution-end'))
    await talk.clock.advance(2_000)
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    const { open, messages } = await talk.memory.load()
    expect(open?.calls.map(({ toolCallId, state }) => [toolCallId, state])).toEqual([
      ['x', 'result'],
      ['y', 'started'],
    ])
    expect(messages).toHaveLength(2)
    const agent = agentOf([{ text: 'done' }], { tools: [wait.tool] })
    const elsewhere = agent.run(undefined, { journal: createMemoryJournal({ snapshot: talk.memory.snapshot() }) })
    await until(() => wait.started.length === 3)
    wait.open('y')
    expect((await elsewhere.result()).status).toBe('completed')
    expect(wait.started).toEqual(['x', 'y', 'y'])
  })

  it('A179: after a yield with all outcomes in, their results are stored, and another process ends the step', async () => {
    const { talk, leave } = leavable({ kind: 'yield' })
    const wait = gated('wait')
    const run = talk.run(agentOf([{ toolCalls: [call('x', 'wait')] }], { tools: [wait.tool] }), 'go')
    await until(() => wait.started.length === 1)
    leave()
    wait.open('x')
    expect((await run.result()).reason).toBe('yielded')
    const journal = createMemoryJournal({ snapshot: talk.memory.snapshot() })
    const agent = agentOf([{ text: 'done' }], { tools: [wait.tool] })
    expect((await agent.run(undefined, { journal }).result()).messages.map(({ role }) => role)).toEqual(['assistant'])
    expect(wait.started).toEqual(['x'])
  })

  it('a fenced run commits nothing more', async () => {
    const { talk, leave } = leavable({ kind: 'fenced' })
    const wait = gated('wait')
    const run = talk.run(agentOf([{ toolCalls: [call('x', 'wait')] }], { tools: [wait.tool] }), 'go')
    await until(() => wait.started.length === 1)
    const commits = talk.journal.commits.length
    leave()
    wait.open('x')
    expect(await run.result()).toMatchObject({ status: 'error', reason: 'journal-error', error: { code: 'fenced' } })
    expect(talk.journal.commits).toHaveLength(commits)
  })
})

/** Call it at the place where the run must yield. Returns false in any other run. */
type Here = () => boolean

/** A place at which a run may be told to yield. */
interface Place {
  readonly options?: (here: Here) => Partial<AgentOptions>
  readonly tool?: (here: Here) => Partial<ToolOptions<object>>
}

const throwing = (here: Here) => () => (here() ? Promise.reject(new Error('left')) : Promise.resolve(undefined))
const hanging = (here: Here) => () => (here() ? new Promise<never>(() => {}) : Promise.resolve(undefined))

const places: readonly [string, Place][] = [
  ['a hook before the first call', { options: (here) => ({ extensions: [extension('h', { beforeAgentStart: () => void here() })] }) }],
  ['onTurnStart', { options: (here) => ({ extensions: [extension('h', { onTurnStart: () => void here() })] }) }],
  ['onStepStart', { options: (here) => ({ extensions: [extension('h', { onStepStart: () => void here() })] }) }],
  ['transformContext', { options: (here) => ({ extensions: [extension('h', { transformContext: () => void here() })] }) }],
  ['afterModelCall', { options: (here) => ({ extensions: [extension('h', { afterModelCall: () => void here() })] }) }],
  ['onToolCall', { options: (here) => ({ extensions: [extension('h', { onToolCall: () => void here() })] }) }],
  ['onToolCall that hangs', { options: (here) => ({ extensions: [extension('h', { onToolCall: hanging(here) })] }) }],
  ['onToolResult', { options: (here) => ({ extensions: [extension('h', { onToolResult: () => void here() })] }) }],
  ['onStepEnd', { options: (here) => ({ extensions: [extension('h', { onStepEnd: () => void here() })] }) }],
  [
    'onStepEnd of the last step',
    {
      options: (here) => ({
        extensions: [
          extension('h', {
            onStepEnd: ({ step }) => {
              if (step === 2) here()
            },
          }),
        ],
      }),
    },
  ],
  [
    'beforeCall of a guardrail',
    {
      options: (here) => ({
        guardrails: [guardrail('g', { beforeCall: () => (here() ? { action: 'block', reason: 'late' } : undefined) })],
      }),
    },
  ],
  ['a section of the prompt', { options: (here) => ({ instructions: { system: () => (here(), 'You help.') } }) }],
  ['prepareStep', { options: (here) => ({ prepareStep: () => void here() }) }],
  ['prepareStep that throws', { options: (here) => ({ prepareStep: throwing(here) }) }],
  ['stopWhen', { options: (here) => ({ stopWhen: () => (here(), false) }) }],
  ['stopWhen that hangs', { options: (here) => ({ stopWhen: async () => Boolean(await hanging(here)()) }) }],
  ['ephemeral', { options: (here) => ({ ephemeral: () => (here(), []) }) }],
  ['needsApproval', { tool: (here) => ({ needsApproval: () => (here(), false) }) }],
  ['needsApproval that hangs', { tool: (here) => ({ needsApproval: async () => Boolean(await hanging(here)()) }) }],
  ['the tool', { tool: (here) => ({ execute: () => (here(), 'ran') }) }],
  ['toModelOutput', { tool: (here) => ({ toModelOutput: () => (here(), { type: 'text', value: 'ran' }) }) }],
]

const script: readonly Step[] = [{ toolCalls: [call('x', 't')] }, { text: 'done' }]

/** Plays one turn whose first run is told to yield at a place. */
async function leaveAt({ options, tool }: Place, leaves: boolean) {
  const controller = new AbortController()
  const here = (): boolean => (leaves && controller.abort({ kind: 'yield' }), leaves)
  const runs: string[] = []
  const agentHere = (at: Here) => {
    const t = defineTool({
      name: 't',
      description: '',
      inputSchema: {},
      execute: (_input, { idempotencyKey }) => (runs.push(idempotencyKey), 'ran'),
      ...tool?.(at),
    })
    const model = scriptedModel(({ prompt }) => script[prompt.filter(({ role }) => role === 'assistant').length] ?? { text: 'too far' })
    return defineAgent({ model, tools: [t], retry: false, ...options?.(at) })
  }
  const talk = conversation()
  const first = await talk.run(agentHere(here), 'go', { abortSignal: controller.signal }).result()
  const types = [...talk.types()]
  const second =
    first.reason === 'yielded'
      ? await talk
          .run(
            agentHere(() => false),
            undefined,
          )
          .result()
      : undefined
  return { first, second, types, runs, messages: (await talk.memory.load()).messages }
}

const journalElsewhere = ({ memory }: Conversation) => createMemoryJournal({ snapshot: memory.snapshot() })

const shapeOf = (messages: readonly StoredMessage[]) =>
  messages.map((message) => [message.role, message.role === 'tool-result' ? message.output : message.content])

describe('leaving at any point of the turn', () => {
  it.each(places)('A179: in %s: no end is stored, and the turn goes on as if it had never been interrupted', async (_what, place) => {
    const calm = await leaveAt(place, false)
    const { first, second, types, runs, messages } = await leaveAt(place, true)
    expect(first).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect(types).not.toContain('turn-end')
    expect(types).not.toContain('error')
    expect(second).toMatchObject({ status: 'completed', runId: 'run_1' })
    expect(shapeOf(messages)).toEqual(shapeOf(calm.messages))
    expect(runs.length).toBeLessThanOrEqual(1)
  })

  it('A179: before anything: the input is stored, and no model or tool is called', async () => {
    const talk = conversation()
    const first = await talk.run(agentOf([]), 'go', { abortSignal: AbortSignal.abort({ kind: 'yield' }) }).result()
    expect(first).toMatchObject({ reason: 'yielded' })
    expect(talk.types()).toEqual(['user-message', 'turn-start'])
    expect((await talk.play(agentOf([{ text: 'done' }]), undefined)).result).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('A179: in a retry wait: another process waits for the rest of it', async () => {
    const { talk, leave } = leavable({ kind: 'yield' })
    const busy: Step = { error: Object.assign(new Error('busy'), { statusCode: 503 }) }
    const retry = { jitter: 0, baseDelayMs: 2_000 }
    const run = talk.run(agentOf([busy], { retry }), 'go')
    await until(() => talk.types().includes('retry-start') && talk.clock.pendingTimers > 0)
    await talk.clock.advance(500)
    leave()
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect(talk.types()).not.toContain('retry-end')
    const agent = agentOf([{ text: 'done' }], { retry })
    const elsewhere = agent.run(undefined, { journal: journalElsewhere(talk), clock: talk.clock })
    await until(() => talk.clock.pendingTimers > 0)
    await talk.clock.advance(1_499)
    expect(agent.model.calls).toHaveLength(0)
    await talk.clock.advance(1)
    expect(await elsewhere.result()).toMatchObject({ status: 'completed', text: 'done' })
  })

  it('A179: in a compaction: it is cancelled, and the turn goes on in another process', async () => {
    const { talk, leave } = leavable({ kind: 'yield' })
    const agentWith = (steps: readonly Step[], compact: () => Promise<undefined>) => {
      const scripted = scriptedModel(steps)
      const models = createModels({
        providers: { test: { languageModel: () => scripted } },
        models: { 'test:small': { contextWindow: 1_000 } },
      })
      return defineAgent({
        model: 'test:small',
        models,
        retry: false,
        runtimeParams: { maxTokens: 500 },
        compaction: { name: 'slow', compact },
      })
    }
    const run = talk.run(
      agentWith([], () => (leave(), new Promise<undefined>(() => {}))),
      'x'.repeat(2_400),
    )
    expect(await run.result()).toMatchObject({ status: 'aborted', reason: 'yielded' })
    expect(talk.types()).not.toContain('turn-end')
    const elsewhere = agentWith([{ text: 'done' }], () => Promise.resolve(undefined))
    expect(await elsewhere.run(undefined, { journal: journalElsewhere(talk), clock: talk.clock }).result()).toMatchObject({
      status: 'completed',
      text: 'done',
    })
  })

  it('A179: while an approval is pending in place: the question stays open', async () => {
    const { talk, leave } = leavable({ kind: 'yield' })
    const t = defineTool({ name: 't', description: '', inputSchema: {}, needsApproval: true, execute: () => 'ran' })
    const run = talk.run(agentOf([{ toolCalls: [call('x', 't')] }], { tools: [t] }), 'go', {
      onApproval: () => (leave(), new Promise(() => {})),
    })
    expect(await run.result()).toMatchObject({ reason: 'yielded' })
    const agent = agentOf([{ text: 'done' }], { tools: [t] })
    const answers = { approvals: [{ approvalId: 'approval_1', decision: 'approve' as const }] }
    expect(await agent.run(answers, { journal: journalElsewhere(talk) }).result()).toMatchObject({ status: 'completed' })
  })

  it('A179: while a tool reconciles a call: it is asked again', async () => {
    const tool = (execute: () => Promise<string>, reconcile: ToolOptions<object>['reconcile']) =>
      defineTool({ name: 't', description: '', inputSchema: {}, execute, ...(reconcile && { reconcile }) })
    const never = (): Promise<never> => new Promise(() => {})
    const talk = conversation({ unfinished: true })
    const dying = crashingJournal(talk.journal, { commit: 3, when: 'before' })
    await talk
      .run(agentOf([{ toolCalls: [call('x', 't')] }], { tools: [tool(() => Promise.resolve('lost'), never)] }), 'go', { journal: dying })
      .result()
    const controller = new AbortController()
    const second = agentOf([], {
      tools: [tool(never, () => (controller.abort({ kind: 'yield' }), never()))],
      onUnknownOutcome: 'tell-model',
    })
    expect((await talk.play(second, undefined, { abortSignal: controller.signal })).result).toMatchObject({ reason: 'yielded' })
    const third = agentOf([{ text: 'done' }], { tools: [tool(never, () => Promise.resolve({ happened: true, result: 'it did' }))] })
    const { result } = await talk.play(third, undefined)
    expect(result).toMatchObject({ status: 'completed', messages: [{ status: 'result', output: { value: 'it did' } }, {}] })
  })
})
