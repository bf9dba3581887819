import type { ChildView } from '@bowline/agent-loop/events'
import type { Client, SessionSummary } from '@bowline/client'
import { useCallback, useEffect, useState } from 'react'
import { loadFacts } from '../parts/load-patiently.ts'

/** Returns the session of a child run. */
export type FindChild = (childRunId: string) => string | undefined

/** Returns a function that finds the sessions of subagents. It stays the same as long as its results are the same. */
export function useChildren(client: Client, sessionId: string, children: readonly ChildView[]): FindChild {
  const [found, setFound] = useState<readonly SessionSummary[]>([])
  const count = children.length
  useEffect(() => {
    if (count === 0) return
    const leaving = new AbortController()
    loadFacts((abortSignal) => client.sessions({ parent: sessionId, limit: 100, abortSignal }), leaving.signal).then(
      ({ sessions }) => setFound(sessions),
      () => undefined,
    )
    return () => leaving.abort()
  }, [client, sessionId, count])
  return useCallback(
    (childRunId) =>
      sessionOf(
        children,
        found.filter(({ parent }) => parent === sessionId),
        childRunId,
      ),
    [children, found, sessionId],
  )
}

/**
 * Returns the session of a child run. A background child knows the end of its session id. Others are matched by agent and order.
 */
function sessionOf(children: readonly ChildView[], sessions: readonly SessionSummary[], childRunId: string): string | undefined {
  const child = children.find((candidate) => candidate.childRunId === childRunId)
  if (!child) return undefined
  const { taskId, subagent } = child
  if (taskId !== undefined) return sessions.find(({ sessionId }) => sessionId.endsWith(`~${taskId}`))?.sessionId
  const inBackground = new Set(children.flatMap((other) => (other.taskId === undefined ? [] : [other.taskId])))
  const alike = children.filter((other) => other.subagent === subagent && other.taskId === undefined)
  const theirs = sessions
    .filter(({ sessionId, agent }) => agent === subagent && !inBackground.has(sessionId.slice(sessionId.lastIndexOf('~') + 1)))
    .toSorted((a, b) => a.createdAt - b.createdAt)
  return theirs[alike.indexOf(child)]?.sessionId
}
