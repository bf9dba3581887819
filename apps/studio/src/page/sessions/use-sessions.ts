import type { Client, SessionSummary } from '@bowline/client'
import { useCallback, useEffect, useState } from 'react'
import { loadFacts } from '../parts/load-patiently.ts'

export interface Sessions {
  readonly list: readonly SessionSummary[]
  readonly refresh: () => void
}

/** Returns the list of sessions. It is read again when `reason` changes and when the user returns to the page. */
export function useSessions(client: Client, reason: string): Sessions {
  const [list, setList] = useState<readonly SessionSummary[]>([])
  const [wish, setWish] = useState(0)
  const refresh = useCallback(() => setWish((count) => count + 1), [])
  useEffect(() => {
    const leaving = new AbortController()
    loadFacts((abortSignal) => client.sessions({ limit: 100, abortSignal }), leaving.signal).then(
      ({ sessions }) => setList(sessions),
      // The last list stays. The conversation has its own connection and reports the error.
      () => undefined,
    )
    window.addEventListener('focus', refresh)
    return () => {
      window.removeEventListener('focus', refresh)
      leaving.abort()
    }
  }, [client, reason, wish, refresh])
  return { list, refresh }
}
