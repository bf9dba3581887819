import { AgentError, type ChildRequest } from '@bowline/agent-loop'
import { openStatuses } from '../contract/run-status.ts'
import type { SessionStore } from '../contract/session-store.ts'
import type { RunRecord, RunStatus, SessionRecord } from '../contract/records.ts'
import type { BackgroundSettings } from './child-context.ts'
import { originOf } from '../contract/origin.ts'

interface Limited {
  readonly context: { readonly store: SessionStore; readonly background: BackgroundSettings }
  readonly session: SessionRecord
  readonly run: RunRecord
}

/** Throws with a reason for the model if no more background work may be started. */
export async function checkLimits({ context, session, run }: Limited, { background }: ChildRequest): Promise<void> {
  if (!background) return
  const { store, background: limits } = context
  const depth = (originOf(run)?.path.length ?? 0) + 1
  if (depth > limits.maxDepth) throw refused(`The limit of nested background tasks is reached (maxDepth: ${limits.maxDepth}).`)
  if ((await countTasks(store, session.key, limits.maxActive, openStatuses)) >= limits.maxActive) {
    throw refused(`The limit of running background tasks is reached (maxActive: ${limits.maxActive}). Wait for one, or cancel one.`)
  }
  if ((await countTasks(store, session.key, limits.maxRetained)) >= limits.maxRetained) {
    throw refused(`The limit of background tasks of this conversation is reached (maxRetained: ${limits.maxRetained}).`)
  }
}

/** Counts background tasks, up to `most`. */
async function countTasks(store: SessionStore, key: string, most: number, status?: readonly RunStatus[]): Promise<number> {
  let [count, page]: [number, string | undefined] = [0, undefined]
  do {
    const children = await store.listChildren({
      parent: { session: key },
      limit: 1000,
      ...(status && { status }),
      ...(page === undefined ? {} : { page }),
    })
    count += children.items.filter((run) => run.parent?.taskId !== undefined).length
    page = children.next
  } while (page !== undefined && count < most)
  return count
}

function refused(reason: string): AgentError {
  return new AgentError('invalid-input', reason)
}
