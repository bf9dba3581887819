import { AsyncLocalStorage } from 'node:async_hooks'
import type { SessionContext } from './agent.ts'

/** Whose work the code at hand does. */
export interface WorkContext {
  readonly owner: string
  readonly sessionId: string
  readonly agentId: string
  readonly requestId?: string
  /** Of the session at work: its own depth, and the agents above it. */
  readonly depth: number
  readonly path: readonly string[]
}

const storage = new AsyncLocalStorage<WorkContext>()

/** What agents do inside runs with its own context, so that log lines and delegations know where they come from. */
export function withWorkContext<T>(context: WorkContext, work: () => T): T {
  return storage.run(context, work)
}

export function workContextOf({ owner, sessionId, agentId, depth, path }: SessionContext, requestId: string | undefined): WorkContext {
  return { owner, sessionId, agentId, depth, path, ...(requestId !== undefined && { requestId }) }
}

/** Runs what the agent of a session does, in that session's name. */
export function inSession<T>(context: SessionContext, requestId: string | undefined, work: () => T): T {
  return withWorkContext(workContextOf(context, requestId), work)
}

/** Undefined outside of agents. */
export function workContext(): WorkContext | undefined {
  return storage.getStore()
}
