import type { Client, SessionSummary } from '@bowline/client'
import { useEffect, useState } from 'react'

/** The list of sessions, read again whenever `reason` changes and whenever the reader comes back to the page. */
export function useSessions(client: Client, reason: string): readonly SessionSummary[] {
  const [sessions, setSessions] = useState<readonly SessionSummary[]>([])
  useEffect(() => {
    const leaving = new AbortController()
    const load = (): void => {
      client.sessions({ abortSignal: leaving.signal }).then(
        (list) => setSessions(list.sessions),
        // The last list stays. Whatever is wrong shows in the conversation, which has a connection of its own.
        () => undefined,
      )
    }
    load()
    window.addEventListener('focus', load)
    return () => {
      window.removeEventListener('focus', load)
      leaving.abort()
    }
  }, [client, reason])
  return sessions
}
