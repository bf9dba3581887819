import type { ClientEvent } from '@bowline/client'
import { useMemo } from 'react'
import { emptyTimeline, foldTimeline } from './fold.ts'
import type { Timeline } from './fold.ts'

/** The timeline of the events, folded on from where the last render was. */
export function useTimeline(sessionId: string, events: readonly ClientEvent[]): Timeline {
  // Another session begins with an empty picture.
  const fold = useMemo(() => createTimelineFold(), [sessionId])
  return useMemo(() => fold(events), [fold, events])
}

function createTimelineFold(): (events: readonly ClientEvent[]) => Timeline {
  let timeline = emptyTimeline
  let last: ClientEvent | undefined
  return (events) => {
    // Not found, all are folded: numbered ones that are in the picture already change nothing.
    const known = last === undefined ? -1 : events.lastIndexOf(last)
    for (const event of events.slice(known + 1)) {
      if (event.type !== 'unknown' && event.type !== 'resync') timeline = foldTimeline(timeline, event)
    }
    last = events.at(-1) ?? last
    return timeline
  }
}
