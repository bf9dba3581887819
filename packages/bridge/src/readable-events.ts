import type { BridgeEvent } from './agent.ts'

/** Returns a stream whose `return()` also ends a pending read. With a plain generator, `return()` would wait for the next event. */
export function readableEvents(open: (reading: AbortSignal) => AsyncGenerator<BridgeEvent>): AsyncIterable<BridgeEvent> {
  const reading = new AbortController()
  const events = open(reading.signal)
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => events.next(),
      return: () => {
        reading.abort()
        return events.return(undefined)
      },
    }),
  }
}
