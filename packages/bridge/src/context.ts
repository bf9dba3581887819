import { AsyncLocalStorage } from 'node:async_hooks'
import type { SessionContext } from './agent.ts'

/** Owner, session and agent for which the current code runs. */
export interface WorkContext {
  readonly owner: string
  readonly sessionId: string
  readonly agentId: string
  readonly requestId?: string
  /** Depth of the session, and the ids of the agents above it. */
  readonly depth: number
  readonly path: readonly string[]
}

const storage = new AsyncLocalStorage<WorkContext>()

/** Runs agent code in its own async context, so that log lines and delegations know their origin. */
export function withWorkContext<T>(context: WorkContext, work: () => T): T {
  return storage.run(context, work)
}

export function workContextOf({ owner, sessionId, agentId, depth, path }: SessionContext, requestId: string | undefined): WorkContext {
  return { owner, sessionId, agentId, depth, path, ...(requestId !== undefined && { requestId }) }
}

/** Runs a hook of an agent in the context of its session. */
export function inSession<T>(context: SessionContext, requestId: string | undefined, work: () => T): T {
  return withWorkContext(workContextOf(context, requestId), work)
}

/** Returns undefined outside of agents. */
export function workContext(): WorkContext | undefined {
  return storage.getStore()
}
