import { useEffect, useState } from 'react'
import type { DemoInfo } from '../../info.ts'
import { loadInfo } from './demo-routes.ts'

/** Which model answers. Read again for every `reason`: a server that was started anew may have another one. */
export function useInfo(reason: string): DemoInfo | undefined {
  const [info, setInfo] = useState<DemoInfo>()
  useEffect(() => {
    const leaving = new AbortController()
    loadInfo(leaving.signal).then(setInfo, (error: unknown) => {
      if (!leaving.signal.aborted) console.warn('The header could not be filled.', error)
    })
    return () => leaving.abort()
  }, [reason])
  return info
}
