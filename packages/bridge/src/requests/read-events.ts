import type { BridgeEvent } from '../agent.ts'

/** One reading of a prompt's events. */
export interface Reading {
  /** Settles with the stream; rejects with what it or `onEvent` threw. */
  readonly ended: Promise<void>
  /** The agent has not ended the stream. */
  readonly open: boolean
  /** Lets go of the stream: what comes later is `onLate`. */
  stop(): void
}

export interface ReadingListeners {
  /** When it throws, reading ends and the stream is still open. */
  onEvent(event: BridgeEvent): void
  /** The first event after `stop`. */
  onLate(): void
}

/** Starts to read at once. `openStream` may throw, which is a failed reading too. */
export function readEvents(openStream: () => AsyncIterable<BridgeEvent>, listeners: ReadingListeners): Reading {
  let iterator: AsyncIterator<BridgeEvent> | undefined
  let open = true
  let stopped = false

  async function next(): Promise<IteratorResult<BridgeEvent>> {
    try {
      iterator ??= openStream()[Symbol.asyncIterator]()
      const step = await iterator.next()
      if (step.done) open = false
      return step
    } catch (error) {
      open = false
      throw error
    }
  }

  async function read(): Promise<void> {
    for (let step = await next(); !step.done; step = await next()) {
      if (stopped) return listeners.onLate()
      listeners.onEvent(step.value)
    }
  }

  const ended = read()
  ended.catch(() => {})
  return {
    ended,
    get open() {
      return open
    },
    stop() {
      stopped = true
      // A generator that waits inside does not hear this before it goes on, so nobody waits for the answer or minds its failure.
      void (async () => iterator?.return?.())().catch(() => {})
    },
  }
}
