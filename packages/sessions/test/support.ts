import { defineAgent, type AgentOptions, type Tool } from '@bowline/agent-loop'
import { checkEvents, fakeIds } from '@bowline/testing'
import { scriptedModel, type ScriptedModel, type Script } from '@bowline/llm/testing'
import { createRuntime, type LoggedEvent, type Runtime, type RuntimeOptions, type Session } from '@bowline/sessions'
import { expect } from 'vitest'

export interface Setup {
  readonly runtime: Runtime
  readonly model: ScriptedModel
  /** Errors in the background. None in a good run. */
  readonly faults: readonly unknown[]
}

export type SetupOptions = Partial<Omit<RuntimeOptions, 'agents'>> & {
  readonly steps: Script
  readonly tools?: readonly Tool[]
  readonly onUnknownOutcomeOfAgent?: 'stop' | 'tell-model'
  /** Default 10, since tools of these tests that ignore their signal need not be awaited. */
  readonly abortGraceMs?: number
  /** Further options of the agent. */
  readonly agent?: Partial<AgentOptions>
}

/** Unique across all runtimes of a test file, like real ids. */
const ids = fakeIds()

/** Creates a runtime with one agent on a scripted model. Does not start it. */
export function setup({
  steps,
  tools = [],
  onUnknownOutcomeOfAgent,
  abortGraceMs = 10,
  agent: agentOptions = {},
  ...options
}: SetupOptions): Setup {
  const model = scriptedModel(steps)
  const faults: unknown[] = []
  const agent = defineAgent({
    name: 'assistant',
    model,
    tools,
    abortGraceMs,
    ...(onUnknownOutcomeOfAgent ? { onUnknownOutcome: onUnknownOutcomeOfAgent } : {}),
    ...agentOptions,
  })
  const runtime = createRuntime({ agents: [agent], ids, onError: (error) => faults.push(error), ...options })
  return { runtime, model, faults }
}

export async function collect(events: AsyncIterable<LoggedEvent>): Promise<LoggedEvent[]> {
  const all: LoggedEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

/** Returns the present durable events of a session. */
export function logOf(session: Session): Promise<LoggedEvent[]> {
  return collect(session.events({ live: false }))
}

export function types(events: readonly LoggedEvent[]): string[] {
  return events.map((event) => event.type)
}

/** Returns the log, after checks of its grammar and of numbers without gaps. */
export async function checkLog(session: Session): Promise<LoggedEvent[]> {
  const log = await logOf(session)
  expect(log.map((event) => ('seq' in event ? event.seq : undefined))).toEqual(log.map((_, index) => index + 1))
  expect(checkEvents(log)).toEqual([])
  return log
}

/** Returns a promise and the function that settles it, for tools that the test releases. */
export function gate<T = void>(): { readonly open: (value: T) => void; readonly passed: Promise<T> } {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { open: resolve, passed: promise }
}

/** Returns the texts of the user messages of a model call. */
export function userTexts(call: ScriptedModel['calls'][number] | undefined): string[] {
  return (call?.prompt ?? []).flatMap((message) => {
    return message.role === 'user' ? message.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('') : []
  })
}

/** Creates a script whose calls report when they are reached, and answer when the test lets them. */
export function heldScript(answers: readonly Exclude<Script, (...args: never[]) => unknown>[number][]) {
  const reached = answers.map(() => gate())
  const go = answers.map(() => gate())
  const steps: Script = async (_call, index) => {
    reached[index]?.open()
    await go[index]?.passed
    const answer = answers[index]
    if (!answer) throw new Error(`Nobody has written call ${index + 1}.`)
    return answer
  }
  return {
    steps,
    /** Resolves when this call is made. */
    reached: (index: number): Promise<void> => reached[index]?.passed ?? Promise.reject(new Error('no such call')),
    /** Lets this call answer. */
    answer: (index: number): void => go[index]?.open(),
  }
}
