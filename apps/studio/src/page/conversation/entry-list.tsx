import type { ViewMessage } from '@bowline/agent-loop/events'
import type { ReactNode } from 'react'
import { memo, useEffect, useMemo, useRef, useState } from 'react'
import { Virtualizer } from 'virtua'

interface EntryListProps {
  readonly messages: readonly ViewMessage[]
  /** Renders a message. It must be the same function as long as it renders the same. */
  readonly render: (message: ViewMessage) => ReactNode
}

/** Number of messages up to which all are in the page, so that it can be searched and read completely. */
const mostAtOnce = 120

/** Messages in order. In a long conversation, only those near the window are in the page. */
export const EntryList = memo(function EntryList({ messages, render }: EntryListProps) {
  const shown = useMemo(() => messages.filter(({ role }) => role !== 'tool-result'), [messages])
  const place = useRef<HTMLDivElement>(null)
  const [box, setBox] = useState<HTMLElement | null>(null)
  const long = shown.length > mostAtOnce
  useEffect(() => setBox(place.current?.closest<HTMLElement>('.conversation-scroll') ?? null), [long])
  if (!long) return shown.map((message, index) => <div key={message.id ?? index}>{render(message)}</div>)
  return (
    <div ref={place}>
      {box && (
        <Virtualizer scrollRef={{ current: box }} startMargin={24} data={shown}>
          {(message, index) => (
            <div key={message.id ?? index} className="pb-6">
              {render(message)}
            </div>
          )}
        </Virtualizer>
      )}
    </div>
  )
})
