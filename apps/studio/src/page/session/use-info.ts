import { useEffect, useState } from 'react'
import type { StudioInfo } from '../../info.ts'
import { loadInfo } from './host-routes.ts'

const everyMs = 400
const retryMs = 1000

export interface Info {
  readonly info: StudioInfo | undefined
  /** The server does not answer, and is asked again. */
  readonly waiting: boolean
}

/**
 * Which model answers, and which servers there are. Read again for every `reason`, because a server that was started anew may
 * have another model; if there are several servers, also every now and then, because they come and go without a word.
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
        // Without an answer the header has gaps, and says that it waits.
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
