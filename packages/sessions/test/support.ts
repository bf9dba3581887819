import { defineAgent, type AgentOptions, type Tool } from '@bowline/agent-loop'
import { checkEvents, fakeIds } from '@bowline/agent-loop/testing'
import { scriptedModel, type ScriptedModel, type Script } from '@bowline/llm/testing'
import { createRuntime, type LoggedEvent, type Runtime, type RuntimeOptions, type Session } from '@bowline/sessions'
import { expect } from 'vitest'

export interface Setup {
  readonly runtime: Runtime
  readonly model: ScriptedModel
  /** Faults of the background, none in a good run. */
  readonly faults: readonly unknown[]
}

export type SetupOptions = Partial<Omit<RuntimeOptions, 'agents'>> & {
  readonly steps: Script
  readonly tools?: readonly Tool[]
  readonly onUnknownOutcomeOfAgent?: 'stop' | 'tell-model'
  /** Default 10: tools of these tests that ignore their signal are not to be waited for. */
  readonly abortGraceMs?: number
  /** Further options of the agent. */
  readonly agent?: Partial<AgentOptions>
}

/** Unique over all runtimes of a test file, as real ids are. */
const ids = fakeIds()

/** A runtime with one agent over a scripted model, not started. */
export function setup({ steps, tools = [], onUnknownOutcomeOfAgent, abortGraceMs = 10, agent: agentOptions = {}, ...options }: SetupOptions): Setup {
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

/** The durable events of a session as they stand. */
export function logOf(session: Session): Promise<LoggedEvent[]> {
  return collect(session.events({ live: false }))
}

export function types(events: readonly LoggedEvent[]): string[] {
  return events.map((event) => event.type)
}

/** The log has the grammar of a run and numbers without gaps. */
export async function checkLog(session: Session): Promise<LoggedEvent[]> {
  const log = await logOf(session)
  expect(log.map((event) => ('seq' in event ? event.seq : undefined))).toEqual(log.map((_, index) => index + 1))
  expect(checkEvents(log)).toEqual([])
  return log
}

/** A promise and what settles it: for tools that the test lets go. */
export function gate<T = void>(): { readonly open: (value: T) => void; readonly passed: Promise<T> } {
  const { promise, resolve } = Promise.withResolvers<T>()
  return { open: resolve, passed: promise }
}

/** The texts of the user messages that a model call was given. */
export function userTexts(call: ScriptedModel['calls'][number] | undefined): string[] {
  return (call?.prompt ?? []).flatMap((message) => {
    return message.role === 'user' ? message.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('') : []
  })
}

/** A script whose calls say when they are reached, and answer when the test lets them. */
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
