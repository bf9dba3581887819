import type { BridgeEvent } from './agent.ts'

/** A stream whose `return` ends a reading that waits for the next event: a generator alone would not hear it. */
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
