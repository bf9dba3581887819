import type { Client, SessionView } from '@bowline/client'
import { useEffect, useState } from 'react'
import { loadFacts } from '../parts/load-patiently.ts'

/** Returns the state of the session that is not in its log. It is read for each new `reason`, and not without one. */
export function useSessionView(client: Client, sessionId: string, reason: string | undefined): SessionView | undefined {
  const [loaded, setLoaded] = useState<SessionView>()
  useEffect(() => {
    if (reason === undefined) return
    const leaving = new AbortController()
    loadFacts((abortSignal) => client.session(sessionId).state({ limit: 1, abortSignal }), leaving.signal).then(
      setLoaded,
      // The conversation reports errors of the connection.
      () => undefined,
    )
    return () => leaving.abort()
  }, [client, sessionId, reason])
  return loaded?.sessionId === sessionId ? loaded : undefined
}
