import { createModels } from '@bowline/llm'
import { scriptedModel } from '@bowline/llm/testing'
import type { Step } from '@bowline/llm/testing'
import { createMemoryJournal, defineAgent, defineTool, phaseOf } from '../../src/index.ts'
import type { AgentOptions, AgentResult, DurableEvent, RunOptions } from '../../src/index.ts'
import { checkEvents, checkTranscript, fakeIds, recordingJournal } from '@bowline/testing'
import { watchedClock } from '../fuzz/watched-clock.ts'
import { refusal } from '../support/waiting.ts'

/** The additions of one plug-in to the agent or to its run. */
export interface PlugIn {
  readonly agent?: Partial<AgentOptions>
  readonly run?: Partial<RunOptions>
}

export interface PlayedPlugIn {
  readonly result: AgentResult
  readonly events: readonly DurableEvent[]
  readonly commits: number
  /** Time that the run waited, in ms. */
  readonly waitedMs: number
  /** True: nothing moved any more, so the run was aborted. */
  readonly stoodStill: boolean
  /** Faults of the log, of the transcript, or of what is left over. */
  readonly faults: readonly string[]
}

const call: Step = { text: 'calls', toolCalls: [{ id: 'c', name: 'tool', input: {} }], usage: { input: 100, output: 5 } }
const busy: Step = { error: refusal(503) }
/** Above the threshold for a compaction after the turn. */
const done: Step = { text: 'done', usage: { input: 9_500, output: 5 } }

/** A turn that calls each plug-in: a retry, a step with a tool, a last answer, a compaction after it. */
const everything: readonly Step[] = [busy, call, done, { text: 'a summary', usage: { input: 10, output: 5 } }]

/** Runs one turn with these plug-ins; time passes only while nothing else moves. */
export async function playPlugIns(plugIns: readonly PlugIn[], steps: readonly Step[] = everything): Promise<PlayedPlugIn> {
  const clock = watchedClock(1_000)
  const model = scriptedModel((_call, place) => steps[place] ?? { text: 'one more' })
  const journal = recordingJournal(createMemoryJournal())
  const options: AgentOptions = {
    model: 'test:model',
    models: createModels({ providers: { test: { languageModel: () => model } }, models: { 'test:model': { contextWindow: 10_000 } } }),
    tools: [defineTool({ name: 'tool', description: 'does it', inputSchema: {}, effect: 'idempotent', execute: () => 'did it' })],
    retry: { baseDelayMs: 0, jitter: 0 },
    compaction: { reserveTokens: 1_000, keepRecentTokens: 1 },
    runtimeParams: { maxTokens: 100 },
  }
  const agent = defineAgent(plugIns.reduce<AgentOptions>((all, { agent: added = {} }) => merged(all, added), options))
  const stop = new AbortController()
  const runOptions = plugIns.reduce<RunOptions>((all, { run = {} }) => ({ ...all, ...run }), {})
  const run = agent.run('go', { ...runOptions, journal, clock: clock.tested, ids: fakeIds(), random: () => 0.5, abortSignal: stop.signal })
  const result = run.result()
  const settled = await settle(clock, result)
  if (!settled) stop.abort()
  if (!settled && !(await settle(clock, result))) throw new Error('the run never ends')
  const { messages, open } = await journal.load()
  return {
    result: await result,
    events: journal.events,
    commits: journal.commits.length,
    waitedMs: clock.now() - 1_000,
    stoodStill: !settled,
    faults: [
      ...checkEvents(journal.log, { allDeltas: true }),
      ...checkTranscript(messages, { openCalls: open !== undefined }),
      ...(phaseOf(journal) === 'idle' ? [] : [`the phase is ${phaseOf(journal)}`]),
      ...(clock.testedTimers === 0 ? [] : [`${clock.testedTimers} timers are left`]),
    ],
  }
}

/** Joins lists of plug-ins; for other options the later one counts. */
function merged(all: AgentOptions, added: Partial<AgentOptions>): AgentOptions {
  const lists = Object.fromEntries(
    (['extensions', 'guardrails', 'stopWhen'] as const).flatMap((key) => {
      const both = [all[key] ?? [], added[key] ?? []].flat()
      return both.length > 0 ? [[key, both]] : []
    }),
  )
  return { ...all, ...added, ...lists }
}

/** Waits until the promise settles or nothing is left that could settle it. */
export async function settle(clock: ReturnType<typeof watchedClock>, promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  void promise.then(() => (settled = true))
  for (;;) {
    for (let turns = 0; turns < 12 && !settled; turns++) await new Promise((resolve) => setImmediate(resolve))
    if (settled) return true
    if (!(await clock.advance())) return false
  }
}
