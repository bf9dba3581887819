import { isDurable } from '@bowline/agent-loop/events'
import type { DurableEvent } from '@bowline/agent-loop/events'
import type { Client, ClientEvent } from '@bowline/client'
import { useEffect, useMemo, useState } from 'react'

type Numbered = DurableEvent & { readonly seq: number }

interface Log {
  readonly events: readonly Numbered[]
  /** Events that the stream left out: after number `after`, up to number `upTo`. Absent if there are none. */
  readonly hole?: { readonly after: number; readonly upTo: number }
}

interface Read {
  readonly sessionId: string
  readonly upTo: number
  readonly events: readonly Numbered[]
}

/**
 * Returns the durable events of a session, oldest first. If the stream resumed from a later state, the missing events are read.
 * Until then the log ends before them, so that it only grows at its end. But it may begin late.
 */
export function useLog(client: Client, sessionId: string, events: readonly ClientEvent[]): readonly DurableEvent[] {
  const grow = useMemo(createLog, [sessionId])
  const live = useMemo(() => grow(events), [grow, events])
  const [latest, setLatest] = useState<Read>()
  const read = latest?.sessionId === sessionId ? latest : undefined
  const { after = 0, upTo = 0 } = live.hole ?? {}
  useEffect(() => {
    if (upTo === 0) return
    const leaving = new AbortController()
    readUntil(client, sessionId, upTo, leaving.signal).then(
      (events) => setLatest({ sessionId, upTo, events }),
      // The page shows the events that it has. The conversation reports errors of the connection.
      () => !leaving.signal.aborted && setLatest({ sessionId, upTo, events: [] }),
    )
    return () => leaving.abort()
  }, [client, sessionId, upTo])
  return useMemo(() => {
    const isRead = (read?.upTo ?? 0) >= upTo
    const shown = isRead || after === 0 ? live.events : live.events.filter(({ seq }) => seq <= after)
    if (!read || read.events.length === 0) return shown
    return [...read.events, ...shown.filter(({ seq }) => seq > read.upTo)]
  }, [read, live, after, upTo])
}

/** Returns a function that collects events. Repeated events after a reconnect are recognized by their number. */
function createLog(): (events: readonly ClientEvent[]) => Log {
  let log: Log = { events: [] }
  let last: ClientEvent | undefined
  return (events) => {
    const known = last === undefined ? -1 : events.lastIndexOf(last)
    const added: Numbered[] = []
    let { hole } = log
    let end = log.events.at(-1)?.seq ?? 0
    for (const event of events.slice(known + 1)) {
      if (event.type === 'resync') {
        const upTo = Number.parseInt(event.state.cursor, 10)
        if (upTo > end) hole = { after: end, upTo }
      } else if (isNumbered(event) && event.seq > end) {
        if (end === 0 && event.seq > 1) hole ??= { after: 0, upTo: event.seq - 1 }
        added.push(event)
        end = event.seq
      }
    }
    last = events.at(-1) ?? last
    if (added.length > 0 || hole !== log.hole)
      log = { events: added.length > 0 ? [...log.events, ...added] : log.events, ...(hole && { hole }) }
    return log
  }
}

function isNumbered(event: ClientEvent): event is Numbered {
  return isDurable(event) && event.seq !== undefined
}

/** Reads up to the event of this number, even if its type is unknown to the page. */
async function readUntil(client: Client, sessionId: string, last: number, abortSignal: AbortSignal): Promise<readonly Numbered[]> {
  const found: Numbered[] = []
  for await (const event of client.session(sessionId).attach({ from: 'start', abortSignal })) {
    const seq = Number((event.type === 'unknown' ? event.event : event)['seq' as never] ?? 0)
    if (isNumbered(event) && seq <= last) found.push(event)
    if (seq >= last) break
  }
  return found
}
