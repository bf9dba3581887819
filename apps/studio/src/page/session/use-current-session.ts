import { useEffect, useState } from 'react'
import { pageClient } from './page-client.ts'

/** The session of a child has the ids of those above it before its own. */
const hashForm = /^#\/s\/([A-Za-z0-9][\w~-]{0,599})$/

export interface CurrentSession {
  readonly sessionId: string
  /** It is in the address, so that others can open it. */
  readonly addressed: boolean
  readonly pick: (sessionId: string) => void
  readonly startNew: () => void
}

/** The session in the address. A new one has no address before its first message. */
export function useCurrentSession(): CurrentSession {
  const [address, setAddress] = useState(readAddress)
  const [fresh, setFresh] = useState(() => pageClient.session().id)
  // It is new no more: the way back from it leads to the first page.
  if (address === fresh) setFresh(pageClient.session().id)
  useEffect(() => {
    const onHash = (): void => setAddress(readAddress())
    window.addEventListener('hashchange', onHash)
    return () => window.removeEventListener('hashchange', onHash)
  }, [])
  // At once: until the browser tells of the change, what the reader types would go to the session before.
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
