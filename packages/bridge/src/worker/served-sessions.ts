import { randomUUID } from 'node:crypto'
import { RequestError } from '@agentclientprotocol/sdk'
import type { JSONObject } from '@bowline/llm'
import type { BridgeAgent, CloseReason, SessionContext } from '../agent.ts'
import { withWorkContext } from '../context.ts'
import { BridgeError } from '../errors.ts'
import { bowlineMeta, recordOf } from './meta.ts'

const internalError = -32603

/** A session that this worker serves. */
export interface ServedSession {
  readonly context: SessionContext
  current?: ServedPrompt | undefined
}

export interface ServedPrompt {
  readonly requestId: string
  readonly abort: AbortController
  /** Resolves when the prompt has ended; never rejects. */
  readonly ended: Promise<void>
}

export interface ServedSessions {
  /** Creates a session and runs the create hook. If the hook throws, the session does not exist. */
  create(params: object): Promise<ServedSession>
  /** Adds a session that was created before, in this process or another. */
  resume(sessionId: string, params: object): ServedSession
  /** Throws the protocol's error if the session does not exist. */
  get(sessionId: string): ServedSession
  close(session: ServedSession, reason: CloseReason): Promise<void>
  /** Removes the session without running its hook. */
  forget(session: ServedSession): void
  all(): readonly ServedSession[]
}

export function createServedSessions(agent: BridgeAgent): ServedSessions {
  const sessions = new Map<string, ServedSession>()

  function add(context: SessionContext): ServedSession {
    const session: ServedSession = { context }
    sessions.set(context.sessionId, session)
    return session
  }

  return {
    async create(params) {
      const context = contextOf(agent, params)
      if (sessions.has(context.sessionId)) throw RequestError.invalidRequest(undefined, 'the session exists')
      try {
        await inContext(context, undefined, () => agent.onSessionCreate?.(context))
      } catch (error) {
        throw requestErrorOf(error)
      }
      return add(context)
    },
    resume: (sessionId, params) => sessions.get(sessionId) ?? add({ ...contextOf(agent, params), sessionId }),
    get(sessionId) {
      const session = sessions.get(sessionId)
      if (!session) throw RequestError.sessionNotFound(sessionId)
      return session
    },
    async close(session, reason) {
      if (!sessions.delete(session.context.sessionId)) return
      try {
        await inContext(session.context, undefined, () => agent.onSessionClose?.(session.context, reason))
      } catch (error) {
        throw requestErrorOf(error)
      }
    },
    forget: ({ context }) => void sessions.delete(context.sessionId),
    all: () => [...sessions.values()],
  }
}

/** Runs agent code in the context of its session, so that delegations know their origin. */
export function inContext<T>(context: SessionContext, requestId: string | undefined, work: () => T): T {
  const { owner, sessionId, agentId, depth, path } = context
  return withWorkContext({ owner, sessionId, agentId, depth, path, ...(requestId !== undefined && { requestId }) }, work)
}

/** Reads the context that the bridge sent. A plain ACP client sends none, so defaults apply. */
function contextOf(agent: BridgeAgent, params: object): SessionContext {
  const meta = bowlineMeta(params)
  const text = (name: string, standard: string): string => (typeof meta[name] === 'string' ? meta[name] : standard)
  const number = (name: string, standard: number): number => (typeof meta[name] === 'number' ? meta[name] : standard)
  const sessionId = text('sessionId', randomUUID())
  return {
    sessionId,
    conversationId: text('conversationId', sessionId),
    agentId: text('agentId', agent.info.id),
    owner: text('owner', 'local'),
    metadata: recordOf(meta['metadata']) as JSONObject,
    createdAt: number('createdAt', Date.now()),
    depth: number('depth', 0),
    path: Array.isArray(meta['path']) ? meta['path'].map(String) : [],
  }
}

/** Converts an error of an agent for the wire: a `BridgeError` completely, any other without its text. */
export function requestErrorOf(error: unknown): RequestError {
  if (!BridgeError.isInstance(error)) return new RequestError(internalError, 'Agent failed', { bowline: {} })
  const { code, message, retryable, details } = error
  return new RequestError(internalError, message, { bowline: { code, message, retryable, details } })
}
