import type { ViewMessage } from '@bowline/agent-loop/events'
import type { ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'
import { Virtualizer } from 'virtua'

interface EntryListProps {
  readonly messages: readonly ViewMessage[]
  readonly render: (message: ViewMessage) => ReactNode
}

/** Up to so many stand in the page as they are: it can be searched, and read from end to end. */
const mostAtOnce = 120

/** The messages in order. Of a long conversation only those near the window are in the page. */
export function EntryList({ messages, render }: EntryListProps) {
  const shown = messages.filter(({ role }) => role !== 'tool-result')
  const place = useRef<HTMLDivElement>(null)
  const [box, setBox] = useState<HTMLElement | null>(null)
  const long = shown.length > mostAtOnce
  useEffect(() => setBox(place.current?.closest<HTMLElement>('.conversation-scroll') ?? null), [long])
  if (!long) return shown.map((message, index) => <div key={message.id ?? index}>{render(message)}</div>)
  return (
    <div ref={place}>
      {box && (
        <Virtualizer scrollRef={{ current: box }} startMargin={24}>
          {shown.map((message, index) => (
            <div key={message.id ?? index} className="pb-6">
              {render(message)}
            </div>
          ))}
        </Virtualizer>
      )}
    </div>
  )
}
