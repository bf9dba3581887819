import type { DurableEvent } from '@bowline/agent-loop/events'
import type { RequestView } from '@bowline/client'
import { useEffect, useState } from 'react'
import { pageAdmin } from '../session/page-admin.ts'

export interface LoadedRequests {
  readonly now?: RequestView
  readonly before?: RequestView
  /** Reason why there is no request. */
  readonly problem?: string
}

const loading: LoadedRequests = {}

/** Returns the position of the event that began the latest model call up to this event. */
function callBefore(log: readonly DurableEvent[], place: number): number {
  for (let at = place; at >= 0; at--) if (idOf(log[at]) !== undefined) return at
  return -1
}

/** Reads the model request at this event, or the last one before it, and the request before that one. */
export function useRequests(sessionId: string, log: readonly DurableEvent[], place: number): LoadedRequests {
  const at = callBefore(log, place)
  const id = idOf(log[at])
  const beforeId = idOf(log[callBefore(log, at - 1)])
  const [loaded, setLoaded] = useState<{ readonly key: string; readonly requests: LoadedRequests }>()
  const key = `${sessionId}/${id}`
  useEffect(() => {
    if (id === undefined) return
    const leaving = new AbortController()
    const { requests } = pageAdmin.session(sessionId)
    // Without the previous request there is no comparison: the request is shown alone.
    const get = (wanted: string): Promise<RequestView> => requests.get(wanted, { abortSignal: leaving.signal })
    Promise.all([get(id), beforeId === undefined ? undefined : get(beforeId).catch(() => undefined)]).then(
      ([now, before]) => setLoaded({ key, requests: { now, ...(before && { before }) } }),
      (error: unknown) => {
        if (!leaving.signal.aborted) setLoaded({ key, requests: { problem: adviceOf(error) } })
      },
    )
    return () => leaving.abort()
  }, [sessionId, id, beforeId, key])
  if (id === undefined) return { problem: 'No model was called up to here.' }
  return loaded?.key === key ? loaded.requests : loading
}

function idOf(event: DurableEvent | undefined): string | undefined {
  if (event?.type === 'message-start' && !event.agent) return event.messageId
  if (event?.type === 'branch-switched') return event.summaryEntryId
  return event?.type === 'compaction-start' && !event.agent ? event.compactionId : undefined
}

const advice: Readonly<Record<string, string>> = {
  'route-not-found': 'This server does not record what models are sent: give createServer and createRuntime a recorder (recordRequests).',
  'scope-missing': 'Your token may not see what models are sent: it needs the scope requests:read.',
  'unknown-request': 'What the model was sent in this call is not recorded, or not any more.',
}

function adviceOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return advice[code] ?? (error instanceof Error ? error.message : String(error))
}
