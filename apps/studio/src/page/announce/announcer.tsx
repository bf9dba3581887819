import { useEffect, useRef, useState } from 'react'
import { announcementsBetween } from './announcements.ts'
import type { Announcement, Heard } from './announcements.ts'

/** So many stay: a screen reader that is behind finds what it has not said yet. */
const keptAnnouncements = 6

interface AnnouncerProps extends Heard {
  /** The log is not all here yet: what arrives now is old. */
  readonly loading: boolean
}

interface Said extends Announcement {
  readonly id: number
}

/** The live regions of a conversation. They are on the page before anything is put into them, or it would not be heard. */
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
