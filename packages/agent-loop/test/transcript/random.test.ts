import { toPrompt } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemoryJournal, defineAgent, defineTool, emptyView, reduceEvents } from '../../src/index.ts'
import type { AgentInput, Journal, JournalState, RunView } from '../../src/index.ts'
import { checkEvents, checkTranscript, recordingJournal } from '../../src/testing/index.ts'
import { Transcript } from '../../src/transcript/transcript.ts'
import { remote } from '../support/tools.ts'

interface RandomStep {
  readonly text: string | undefined
  readonly calls: readonly { readonly id: number; readonly tool: string }[]
  readonly ending: 'stop' | 'length' | 'break' | 'refuse'
}

const randomStep: fc.Arbitrary<RandomStep> = fc.record({
  text: fc.option(fc.constantFrom('a', 'some text'), { nil: undefined }),
  // Few ids, so that they are repeated within and across answers.
  calls: fc.array(fc.record({ id: fc.integer({ min: 0, max: 3 }), tool: fc.constantFrom('good', 'bad', 'far', 'alone', 'nobody', 'quit') }), { maxLength: 4 }),
  ending: fc.constantFrom('stop', 'stop', 'stop', 'length', 'break', 'refuse'),
})

interface RandomLife {
  readonly steps: readonly RandomStep[]
  /** At which commits the process dies. */
  readonly deaths: readonly number[]
  /** How many pending calls are answered at once; 0 stops the turn instead. */
  readonly answers: readonly number[]
}

const randomLife: fc.Arbitrary<RandomLife> = fc.record({
  steps: fc.array(randomStep, { minLength: 1, maxLength: 5 }),
  deaths: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 3 }),
  answers: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
})

const plain = { description: '', inputSchema: {} }
const tools = [
  defineTool({ ...plain, name: 'good', effect: 'idempotent', execute: () => ({ output: { ok: true }, details: { n: 1 } }) }),
  defineTool({ ...plain, name: 'bad', execute: () => Promise.reject(new Error('bad')) }),
  defineTool({ ...plain, name: 'alone', sequential: true, async *execute() { yield 'a'; return 'b' } }),
  defineTool({ ...plain, name: 'quit', execute: () => ({ output: 'bye', terminate: true }) }),
  remote('far'),
]

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

function nextInput({ open, messages }: JournalState, answers: number): { input: AgentInput | undefined; stop?: true } {
  if (!open) return { input: messages.length === 0 ? 'go' : ['more', 'of it'] }
  if (open.openMessageId !== undefined) return { input: undefined }
  const pending = open.calls.filter(({ state }) => state === 'remote')
  if (pending.length === 0) return { input: undefined }
  if (answers === 0) return { input: undefined, stop: true }
  return { input: { toolResults: pending.slice(0, answers).map(({ toolCallId }) => ({ toolCallId, output: 'answered' })) } }
}

async function live({ steps, deaths, answers }: RandomLife): Promise<void> {
  const memory = createMemoryJournal()
  const recorded = recordingJournal(memory)
  const journal = dying(recorded, deaths)
  let call = 0
  const agent = defineAgent({ model: scriptedModel(() => { const step = steps[call++]; return step ? stepOf(step) : { text: 'end' } }), tools, onUnknownOutcome: 'tell-model' })
  for (let round = 0; round < 8; round++) {
    const { input, stop } = nextInput(await memory.load(), answers[round % answers.length] ?? 1)
    const { status } = await agent.run(input, { journal, ...(stop && { abortSignal: AbortSignal.abort() }) }).result()
    expect(status).toBeTypeOf('string')
    const { messages, open } = await memory.load()
    expect(checkTranscript(messages, { openCalls: open !== undefined })).toEqual([])
    expect(checkEvents(recorded.log, { allDeltas: deaths.length === 0, unfinished: true })).toEqual([])
    expect(recorded.events.reduce<RunView>(reduceEvents, emptyView).messages).toEqual(messages)
    if (open) continue
    const { view } = new Transcript(messages)
    expect(toPrompt({ messages: view, model: { provider: 'scripted', modelId: 'scripted-model' } }).repairs).toEqual([])
  }
}

describe('random scripts', () => {
  it('A113: the invariants hold after every run, over errors, cuts, partial answers, stops and crashes', async () => {
    await fc.assert(fc.asyncProperty(randomLife, live), { numRuns: 60, seed: 20_260_101 })
  }, 60_000)
})
