import type { Client, SessionView } from '@bowline/client'
import { useEffect, useState } from 'react'

/** What the server says of the session beside its log: read for every `reason`, and not at all without one. */
export function useSessionView(client: Client, sessionId: string, reason: string | undefined): SessionView | undefined {
  const [loaded, setLoaded] = useState<SessionView>()
  useEffect(() => {
    if (reason === undefined) return
    const leaving = new AbortController()
    client
      .session(sessionId)
      .state({ limit: 1, abortSignal: leaving.signal })
      // The conversation tells what is wrong with the connection.
      .then(setLoaded, () => undefined)
    return () => leaving.abort()
  }, [client, sessionId, reason])
  return loaded?.sessionId === sessionId ? loaded : undefined
}
