import type { JSONObject } from '@bowline/llm'
import type { SessionContext } from '../../agent.ts'
import { recordOf } from '../../worker/meta.ts'
import type { SessionMeta } from '../../worker/meta.ts'

/** Returns the session metadata that a worker receives. Owner and bridge ids go only to workers that use `serveWorker`. */
export function sessionMeta(context: SessionContext, ours: boolean): SessionMeta {
  const { agentId, metadata, depth, path, sessionId, conversationId, owner, createdAt } = context
  const runtimeParams = recordOf(metadata['runtimeParams']) as JSONObject
  return { agentId, metadata, runtimeParams, depth, path, ...(ours && { sessionId, conversationId, owner, createdAt }) }
}
