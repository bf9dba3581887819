import { useEffect, useState } from 'react'
import type { StudioInfo } from '../../info.ts'
import { loadInfo } from './host-routes.ts'

const everyMs = 400
const retryMs = 1000

export interface Info {
  readonly info: StudioInfo | undefined
  /** True if the server does not answer and is being retried. */
  readonly waiting: boolean
}

/**
 * Returns the model and the servers. They are read again for each new `reason`, because a restarted server may have another model.
 * If there are several servers, they are also polled, because they come and go without notice.
 */
export function useInfo(reason: string, sessionId: string): Info {
  const [info, setInfo] = useState<StudioInfo>()
  const [waiting, setWaiting] = useState(false)
  const hasSeveral = info?.servers !== undefined
  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const load = async (): Promise<void> => {
      let isLoaded = false
      try {
        const loaded = await loadInfo(sessionId, leaving.signal)
        setInfo((before) => (isSame(before, loaded) ? before : loaded))
        isLoaded = true
      } catch {
        // Without an answer, the header has gaps and shows that it waits.
      }
      if (leaving.signal.aborted) return
      setWaiting(!isLoaded)
      if (hasSeveral || !isLoaded) timer = setTimeout(() => void load(), hasSeveral ? everyMs : retryMs)
    }
    void load()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [reason, sessionId, hasSeveral])
  return { info, waiting }
}

function isSame(one: StudioInfo | undefined, other: StudioInfo): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
