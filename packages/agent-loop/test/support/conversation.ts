import { manualClock, scriptedModel } from '@bowline/llm/testing'
import type { ManualClock, ScriptedModel, Step } from '@bowline/llm/testing'
import { expect, onTestFinished } from 'vitest'
import { createMemoryJournal, defineAgent, emptyView, reduceEvents } from '../../src/index.ts'
import type {
  Agent,
  AgentEvent,
  AgentInput,
  AgentOptions,
  AgentResult,
  AgentRun,
  IdSource,
  Journal,
  MemoryJournal,
  MemoryJournalOptions,
  RunOptions,
  RunView,
} from '../../src/index.ts'
import { checkEvents, checkTranscript, fakeIds, recordingJournal } from '@bowline/testing'
import type { RecordingJournal } from '@bowline/testing'

/** A conversation whose log and transcript are checked after the test, whatever the test checks itself. */
export interface Conversation {
  readonly memory: MemoryJournal
  readonly journal: RecordingJournal
  readonly clock: ManualClock
  readonly ids: IdSource
  run(agent: Agent, input: AgentInput | undefined, options?: RunOptions): AgentRun
  /** Runs to the end and returns the events of a reader. */
  play(agent: Agent, input: AgentInput | undefined, options?: RunOptions): Promise<Played>
  /** Returns the fold of the whole log. */
  view(): RunView
  types(): readonly string[]
}

export interface Played {
  readonly result: AgentResult
  readonly events: readonly AgentEvent[]
}

export interface ConversationOptions extends MemoryJournalOptions {
  /** True: the log may stop in the middle of a turn. */
  readonly unfinished?: boolean
  /** Wraps the recorded journal for the run. */
  readonly wrap?: (journal: Journal) => Journal
}

export function conversation(options: ConversationOptions = {}): Conversation {
  const { unfinished: _unfinished, wrap = (journal: Journal) => journal, ...memoryOptions } = options
  const memory = createMemoryJournal(memoryOptions)
  const journal = recordingJournal(memory)
  const wrapped = wrap(journal)
  const clock = manualClock(1_000)
  const ids = fakeIds()
  const run: Conversation['run'] = (agent, input, given = {}) => agent.run(input, { journal: wrapped, clock, ids, ...given })
  const made: Conversation = {
    memory,
    journal,
    clock,
    ids,
    run,
    async play(agent, input, given) {
      const started = run(agent, input, given)
      const events = await readAll(started)
      return { result: await started.result(), events }
    },
    view: () => journal.log.reduce<RunView>(reduceEvents, emptyView),
    types: () => journal.log.map((event) => event.type),
  }
  onTestFinished(() => check(made, options))
  return made
}

export async function readAll(source: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of source) events.push(event)
  return events
}

/** Creates a model whose steps must all be used by the end of the test. */
export function model(steps: readonly Step[]): ScriptedModel {
  const scripted = scriptedModel(steps)
  onTestFinished(() => scripted.assertDone())
  return scripted
}

/** Creates an agent with a scripted model and without retries. */
export function agentOf(steps: readonly Step[], options: Partial<AgentOptions> = {}): Agent & { readonly model: ScriptedModel } {
  const scripted = model(steps)
  return { ...defineAgent({ model: scripted, retry: false, ...options }), model: scripted }
}

/** Returns the journals of all subagents, at any depth. */
function childJournals({ childJournals: children }: RecordingJournal): readonly RecordingJournal[] {
  return [...children.values()].flatMap((child) => [child, ...childJournals(child)])
}

async function check({ memory, journal, clock }: Conversation, options: ConversationOptions): Promise<void> {
  const { messages, open } = await memory.load()
  expect(checkEvents(journal.log, { allDeltas: true, unfinished: options.unfinished ?? false })).toEqual([])
  for (const child of childJournals(journal)) {
    expect(checkEvents(child.log, { allDeltas: true, unfinished: options.unfinished ?? false })).toEqual([])
    const state = await child.load()
    expect(checkTranscript(state.messages, { openCalls: state.open !== undefined })).toEqual([])
  }
  expect(checkTranscript(messages, { openCalls: open !== undefined })).toEqual([])
  if (options.messages || options.snapshot !== undefined) return
  const view = journal.events.reduce<RunView>(reduceEvents, emptyView)
  expect(JSON.stringify(view.messages)).toBe(JSON.stringify(messages))
  expect(view.gap).toBe(false)
  expect(clock.pendingTimers).toBe(0)
}
