import { useEffect, useState } from 'react'
import type { StudioInfo } from '../../info.ts'
import { loadInfo } from './host-routes.ts'

const everyMs = 400

/**
 * Which model answers, and which servers there are. Read again for every `reason`, because a server that was started anew may
 * have another model; if there are several servers, also every now and then, because they come and go without a word.
 */
export function useInfo(reason: string, sessionId: string): StudioInfo | undefined {
  const [info, setInfo] = useState<StudioInfo>()
  const hasSeveral = info?.servers !== undefined
  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const load = async (): Promise<void> => {
      try {
        const loaded = await loadInfo(sessionId, leaving.signal)
        setInfo((before) => (isSame(before, loaded) ? before : loaded))
      } catch (error) {
        if (leaving.signal.aborted) return
        // Of several servers the one that was asked may just have died.
        if (!hasSeveral) console.warn('The header could not be filled.', error)
      }
      if (hasSeveral && !leaving.signal.aborted) timer = setTimeout(() => void load(), everyMs)
    }
    void load()
    return () => {
      leaving.abort()
      clearTimeout(timer)
    }
  }, [reason, sessionId, hasSeveral])
  return info
}

function isSame(one: StudioInfo | undefined, other: StudioInfo): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
