import { useEffect, useRef, useState } from 'react'
import { announcementsBetween } from './announcements.ts'
import type { Announcement, Heard } from './announcements.ts'

/** Number of announcements in the page, so that a slow screen reader finds those that it has not read yet. */
const keptAnnouncements = 6

interface AnnouncerProps extends Heard {
  /** True while the log is being loaded: the events are then old. */
  readonly loading: boolean
}

interface Said extends Announcement {
  readonly id: number
}

/** Live regions of a conversation. They must be in the page before they get text, or screen readers ignore it. */
export function Announcer({ view, margins, loading }: AnnouncerProps) {
  const before = useRef<Heard>(undefined)
  const [said, setSaid] = useState<readonly Said[]>([])
  useEffect(() => {
    if (loading) return
    const news = announcementsBetween(before.current, { view, margins })
    before.current = { view, margins }
    if (news.length === 0) return
    setSaid((old) => {
      const next = (old.at(-1)?.id ?? 0) + 1
      return [...old, ...news.map((announcement, place) => ({ ...announcement, id: next + place }))].slice(-keptAnnouncements)
    })
  }, [view, margins, loading])
  return (
    <div className="sr-only">
      {(['polite', 'assertive'] as const).map((urgency) => (
        <div key={urgency} aria-live={urgency} aria-relevant="additions" data-testid={`announced-${urgency}`}>
          {said
            .filter((announcement) => announcement.urgency === urgency)
            .map(({ id, text }) => (
              <p key={id}>{text}</p>
            ))}
        </div>
      ))}
    </div>
  )
}
