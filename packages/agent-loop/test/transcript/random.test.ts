import { toPrompt } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemoryJournal, defineAgent, defineTool, emptyView, reduceEvents } from '../../src/index.ts'
import { defineExtension } from '../../src/extensions/define-extension.ts'
import type { Agent, AgentInput, Journal, JournalState, RunView } from '../../src/index.ts'
import { checkEvents, checkTranscript, recordingJournal } from '../../src/testing/index.ts'
import { repairTranscript } from '../../src/transcript/repair.ts'
import { View } from '../../src/transcript/view.ts'
import { remote } from '../support/tools.ts'

interface RandomStep {
  readonly text: string | undefined
  readonly calls: readonly { readonly id: number; readonly tool: string }[]
  readonly ending: 'stop' | 'length' | 'break' | 'refuse'
}

const randomStep: fc.Arbitrary<RandomStep> = fc.record({
  text: fc.option(fc.constantFrom('a', 'some text'), { nil: undefined }),
  // Few ids, so that they are repeated within and across answers.
  calls: fc.array(fc.record({ id: fc.integer({ min: 0, max: 3 }), tool: fc.constantFrom('good', 'bad', 'far', 'alone', 'nobody', 'quit', 'asked', 'kept') }), { maxLength: 4 }),
  ending: fc.constantFrom('stop', 'stop', 'stop', 'length', 'break', 'refuse'),
})

interface RandomLife {
  readonly steps: readonly RandomStep[]
  /** At which commits the process dies. */
  readonly deaths: readonly number[]
  /** How many pending calls are answered at once; 0 stops the turn instead. */
  readonly answers: readonly number[]
  /** Of the approvals that are asked for. */
  readonly decisions: readonly boolean[]
  /** In which rounds somebody speaks in between. */
  readonly steers: readonly number[]
  readonly rewind: 'attempt' | 'turn'
  readonly onFailedTurn: 'keep' | 'rewind'
}

const randomLife: fc.Arbitrary<RandomLife> = fc.record({
  steps: fc.array(randomStep, { minLength: 1, maxLength: 5 }),
  deaths: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
  answers: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
  decisions: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
  steers: fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 2 }),
  rewind: fc.constantFrom('attempt', 'turn'),
  onFailedTurn: fc.constantFrom('keep', 'rewind'),
})

const plain = { description: '', inputSchema: {} }
const tools = [
  defineTool({ ...plain, name: 'good', effect: 'idempotent', execute: () => ({ output: { ok: true }, details: { n: 1 } }) }),
  defineTool({ ...plain, name: 'bad', execute: () => Promise.reject(new Error('bad')) }),
  defineTool({ ...plain, name: 'alone', sequential: true, async *execute() { yield 'a'; return 'b' } }),
  defineTool({ ...plain, name: 'quit', execute: () => ({ output: 'bye', terminate: true }) }),
  defineTool({ ...plain, name: 'asked', needsApproval: true, execute: () => 'allowed' }),
  defineTool({ ...plain, name: 'kept', execute: () => 'never' }),
  remote('far'),
]
const keeper = defineExtension({
  name: 'keeper',
  hooks: { onToolCall: ({ call }) => (call.toolName === 'kept' ? { action: 'reject-and-continue', message: 'kept' } : { action: 'allow' }) },
})

function stepOf({ text, calls, ending }: RandomStep): Step {
  if (ending === 'refuse') return { error: new Error('refused') }
  return {
    ...(text !== undefined && { text, chunk: 3 }),
    ...(text === undefined && calls.length === 0 && { text: '.' }),
    toolCalls: calls.map(({ id, tool }) => ({ id: `c${id}`, name: tool, input: { n: id } })),
    ...(ending === 'length' && { finish: 'length' as const }),
    ...(ending === 'break' && { finish: false as const }),
  }
}

function dying(journal: Journal, deaths: readonly number[]): Journal {
  let commits = 0
  return {
    ...journal,
    commit: (records, expect) => (deaths.includes(++commits) ? Promise.reject(new Error('died')) : journal.commit(records, expect)),
  }
}

interface NextInput {
  readonly input: AgentInput | undefined
  readonly stop?: true
}

function nextInput({ open, messages }: JournalState, answers: number, decisions: readonly boolean[]): NextInput {
  if (!open) return { input: messages.length === 0 ? 'go' : ['more', 'of it'] }
  if (open.openMessageId !== undefined) return { input: undefined }
  const pending = open.calls.filter(({ state }) => state === 'remote')
  const asked = open.calls.flatMap(({ state, approval }) => (state === 'pending' && approval?.state === 'requested' ? [approval.approvalId] : []))
  if (pending.length + asked.length === 0) return { input: undefined }
  if (answers === 0) return { input: undefined, stop: true }
  const toolResults = pending.slice(0, answers).map(({ toolCallId }) => ({ toolCallId, output: 'answered' }))
  const approvals = asked.slice(0, answers).map((approvalId, place) => {
    const decision = decisions[place % decisions.length] ? 'approve' : 'deny'
    return { approvalId, decision } as const
  })
  return { input: { toolResults, approvals } }
}

function agentFor({ steps, rewind, onFailedTurn }: RandomLife): Agent {
  let call = 0
  const nextStep = (): Step => {
    const step = steps[call++]
    return step ? stepOf(step) : { text: 'end' }
  }
  return defineAgent({
    ...{ model: scriptedModel(nextStep), tools, extensions: [keeper], onUnknownOutcome: 'tell-model', onFailedTurn },
    retry: { maxRetries: 1, baseDelayMs: 0, jitter: 0, rewind },
  })
}

async function live(life: RandomLife): Promise<void> {
  const { deaths, answers, decisions, steers } = life
  const memory = createMemoryJournal()
  const recorded = recordingJournal(memory)
  const journal = dying(recorded, deaths)
  const agent = agentFor(life)
  for (let round = 0; round < 8; round++) {
    const { input, stop } = nextInput(await memory.load(), answers[round % answers.length] ?? 1, decisions)
    const run = agent.run(input, { journal, ...(stop && { abortSignal: AbortSignal.abort() }) })
    if (steers.includes(round)) await run.steer('by the way')
    const { status } = await run.result()
    expect(status).toBeTypeOf('string')
    const { messages, open } = await memory.load()
    expect(checkTranscript(messages, { openCalls: open !== undefined })).toEqual([])
    expect(checkEvents(recorded.log, { allDeltas: deaths.length === 0, unfinished: true })).toEqual([])
    expect(recorded.events.reduce<RunView>(reduceEvents, emptyView).messages).toEqual(messages)
    if (open) continue
    const view = new View()
    for (const message of messages) view.append(message)
    expect(toPrompt({ messages: view.messages, model: { provider: 'scripted', modelId: 'scripted-model' } }).repairs).toEqual([])
    expect(repairTranscript(messages)).toEqual({ messages, repairs: [] })
  }
}

describe('random scripts', () => {
  it('A113: the invariants hold after every run, over errors, retries, cuts, denials, partial answers, steering, stops and crashes', async () => {
    await fc.assert(fc.asyncProperty(randomLife, live), { numRuns: 60, seed: 20_260_101 })
  }, 60_000)
})
