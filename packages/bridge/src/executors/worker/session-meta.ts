import type { JSONObject } from '@bowline/llm'
import type { SessionContext } from '../../agent.ts'
import { recordOf } from '../../worker/meta.ts'
import type { SessionMeta } from '../../worker/meta.ts'

/** What a worker hears of a session. Who owns it and how the bridge calls it is for workers of our own only. */
export function sessionMeta(context: SessionContext, ours: boolean): SessionMeta {
  const { agentId, metadata, depth, path, sessionId, conversationId, owner, createdAt } = context
  const runtimeParams = recordOf(metadata['runtimeParams']) as JSONObject
  return { agentId, metadata, runtimeParams, depth, path, ...(ours && { sessionId, conversationId, owner, createdAt }) }
}
