import { defineAgent, defineTool, type Agent, type AgentOptions } from '@bowline/agent-loop'
import { scriptedModel, type Script } from '@bowline/llm/testing'
import type { JSONObject } from '@bowline/llm'
import type { RunRecord, RunStatus, Runtime, Session, SessionStore } from '@bowline/sessions'
import { z } from 'zod'
import { logOf, setup, type SetupOptions } from '../support.ts'

export const root = 'room:1'

/** Creates an agent that others can delegate to. */
export function helper(name: string, steps: Script, options: Partial<AgentOptions> = {}): Agent {
  return defineAgent({ name, description: `${name} helps`, model: scriptedModel(steps), abortGraceMs: 10, ...options })
}

/** Creates a call that delegates to the agent of this name. */
export function handOver(id: string, agent: string, more: JSONObject = {}) {
  return { id, name: `delegate_to_${agent}`, input: { prompt: `do ${id}`, ...more } }
}

/** Creates a call that delegates in the background. */
export function launch(id: string, agent: string, more: JSONObject = {}) {
  return handOver(id, agent, { run_in_background: true, ...more })
}

export function callTo(id: string, name: string, input: JSONObject = {}) {
  return { id, name, input }
}

/** Creates a tool with the given function. */
export function tool(name: string, execute: (signal: AbortSignal) => unknown = () => 'done') {
  const inputSchema = z.record(z.string(), z.unknown())
  return defineTool({
    name,
    description: `The tool ${name}.`,
    inputSchema,
    execute: (_input, { abortSignal }) => execute(abortSignal) as string,
  })
}

/** Creates a tool that needs approval. */
export function guarded(name: string, execute: () => string = () => 'done') {
  return defineTool({ name, description: `The tool ${name}.`, inputSchema: z.object({}), needsApproval: true, execute })
}

/** Creates a tool without a function: the client runs it. */
export function remote(name: string) {
  return defineTool({ name, description: `The tool ${name}.`, inputSchema: z.object({}) })
}

export interface TeamOptions extends Omit<SetupOptions, 'steps'> {
  readonly subagents: readonly Agent[]
}

/** Starts a runtime whose agent has these subagents. */
export async function team(steps: Script, { subagents, agent, ...options }: TeamOptions) {
  const made = setup({ steps, agent: { subagents, ...agent }, ...options })
  await made.runtime.start()
  return { ...made, session: made.runtime.session(root) }
}

/** Returns all runs below a session, ordered by the ms of their start and then by the id of their call. */
export async function childrenOf(store: SessionStore, session: string = root): Promise<readonly RunRecord[]> {
  return (await store.listChildren({ parent: { session } })).items
}

/** Returns the run of a subagent below a session. */
export async function childOf(store: SessionStore, agent: string, session: string = root): Promise<RunRecord> {
  const runs = (await childrenOf(store, session)).filter((run) => run.session.startsWith(`${session}~${agent}~`))
  if (runs[0] === undefined || runs.length > 1) throw new Error(`${session} has ${runs.length} runs of ${agent}.`)
  return runs[0]
}

/** Returns the result of a call as the model of the session saw it. */
export async function toldOf(runtime: Runtime, toolCallId: string, key: string = root): Promise<unknown> {
  const { items } = await runtime.session(key).messages()
  const result = items.find((message) => message.role === 'tool-result' && message.toolCallId === toolCallId)
  return result?.role === 'tool-result' ? (result.output.type === 'execution-denied' ? result.output : result.output.value) : undefined
}

/** Resolves with the result of `look` once it is defined. Looks again after each commit. */
export async function found<T>(store: SessionStore, look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const { promise: committed, resolve } = Promise.withResolvers<void>()
    const forget = store.subscribe(() => resolve())
    try {
      const value = await look()
      if (value !== undefined) return value
      await committed
    } finally {
      forget()
    }
  }
}

/** Resolves with the run once it has one of these statuses, by default once it has ended. */
export function endOf(store: SessionStore, runId: string, ...statuses: readonly RunStatus[]): Promise<RunRecord> {
  return found(store, async () => {
    const read = await store.readRun(runId)
    if (read.status === 'missing') return undefined
    const { status, endedAt } = read.value
    return (statuses.length > 0 ? statuses.includes(status) : endedAt !== undefined) ? read.value : undefined
  })
}

/** Returns the texts of the reminders in the log of a session. */
export async function remindersIn(session: Session): Promise<readonly string[]> {
  const log = await logOf(session)
  return log.flatMap((event) => (event.type === 'runtime-input' && event.source === 'notify' ? textOf(event.message) : []))
}

function textOf(message: { readonly content: unknown } | undefined): string {
  return typeof message?.content === 'string' ? message.content : JSON.stringify(message?.content)
}

/** Resolves with the n-th run of a session once it has ended. */
export function nthRun(store: SessionStore, n: number, key: string = root): Promise<RunRecord> {
  return found(store, async () => (await store.listRuns(key, {})).items.find((run) => run.n === n && run.endedAt !== undefined))
}

/** Returns the task id that the launch told the model. */
export async function taskOf(runtime: Runtime, toolCallId: string, key: string = root): Promise<string> {
  return ((await toldOf(runtime, toolCallId, key)) as { readonly task_id: string }).task_id
}

/** Resolves with the reminders once there are at least this many. */
export function remindersWhen(store: SessionStore, session: Session, count: number): Promise<readonly string[]> {
  return found(store, async () => {
    const all = await remindersIn(session)
    return all.length >= count ? all : undefined
  })
}
