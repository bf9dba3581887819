import { useEffect, useState } from 'react'
import { pageClient } from './page-client.ts'

/** Form of the address. The id of a child session begins with the ids of its parents. */
const hashForm = /^#\/s\/([A-Za-z0-9][\w~-]{0,599})$/

export interface CurrentSession {
  readonly sessionId: string
  /** True if the session is in the address, so that others can open it. */
  readonly addressed: boolean
  readonly pick: (sessionId: string) => void
  readonly startNew: () => void
}

/** Returns the session in the address. A new one has no address before its first message. */
export function useCurrentSession(): CurrentSession {
  const [address, setAddress] = useState(readAddress)
  const [fresh, setFresh] = useState(() => pageClient.session().id)
  // The session is no longer new: going back must lead to an empty first page.
  if (address === fresh) setFresh(pageClient.session().id)
  useEffect(() => {
    const onHash = (): void => setAddress(readAddress())
    window.addEventListener('hashchange', onHash)
    return () => window.removeEventListener('hashchange', onHash)
  }, [])
  // Sets the address at once: until the event arrives, an input would go to the previous session.
  const show = (hash: string): void => {
    window.location.hash = hash
    setAddress(readAddress())
  }
  return {
    sessionId: address ?? fresh,
    addressed: address !== undefined,
    pick: (sessionId) => show(`#/s/${sessionId}`),
    startNew() {
      setFresh(pageClient.session().id)
      show('')
    },
  }
}

function readAddress(): string | undefined {
  return hashForm.exec(window.location.hash)?.[1]
}
