import { isDurable } from '@bowline/agent-loop/events'
import type { DurableEvent } from '@bowline/agent-loop/events'
import type { Client, ClientEvent } from '@bowline/client'
import { useEffect, useMemo, useRef, useState } from 'react'

type Numbered = DurableEvent & { readonly seq: number }

/**
 * The durable events of a session, oldest first. What the stream did not bring, because the page went on from a later state,
 * is read once.
 */
export function useLog(client: Client, sessionId: string, events: readonly ClientEvent[]): readonly DurableEvent[] {
  const grow = useMemo(createLog, [sessionId])
  const live = useMemo(() => grow(events), [grow, events])
  const [earlier, setEarlier] = useState<{ readonly sessionId: string; readonly events: readonly Numbered[] }>()
  const firstSeq = live[0]?.seq
  const reading = useRef<string>(undefined)
  useEffect(() => {
    if (firstSeq === undefined || firstSeq === 1 || reading.current === sessionId) return
    reading.current = sessionId
    const leaving = new AbortController()
    readUntil(client, sessionId, firstSeq, leaving.signal).then(
      (events) => setEarlier({ sessionId, events }),
      // The page shows what it has. What is wrong with the connection is told by the conversation's own.
      () => undefined,
    )
    return () => {
      leaving.abort()
      reading.current = undefined
    }
  }, [client, sessionId, firstSeq])
  return useMemo(() => {
    const before = earlier?.sessionId === sessionId ? earlier.events.filter(({ seq }) => seq < (firstSeq ?? Infinity)) : []
    return before.length === 0 ? live : [...before, ...live]
  }, [earlier, live, sessionId, firstSeq])
}

/** Events that come again, after a reconnect, are known by their number. */
function createLog(): (events: readonly ClientEvent[]) => readonly Numbered[] {
  let log: readonly Numbered[] = []
  let last: ClientEvent | undefined
  return (events) => {
    const known = last === undefined ? -1 : events.lastIndexOf(last)
    const lastSeq = log.at(-1)?.seq ?? 0
    const added = events.slice(known + 1).filter((event): event is Numbered => isNumbered(event) && event.seq > lastSeq)
    last = events.at(-1) ?? last
    if (added.length > 0) log = [...log, ...added]
    return log
  }
}

function isNumbered(event: ClientEvent): event is Numbered {
  return isDurable(event) && event.seq !== undefined
}

async function readUntil(client: Client, sessionId: string, seq: number, abortSignal: AbortSignal): Promise<readonly Numbered[]> {
  const found: Numbered[] = []
  for await (const event of client.session(sessionId).attach({ from: 'start', abortSignal })) {
    if (isNumbered(event)) {
      if (event.seq >= seq) break
      found.push(event)
    }
  }
  return found
}
