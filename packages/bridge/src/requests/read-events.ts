import type { BridgeEvent } from '../agent.ts'

/** One read of a prompt's event stream. */
export interface Reading {
  /** Settles with the stream. Rejects with the error of the stream or of `onEvent`. */
  readonly ended: Promise<void>
  /** Whether the agent has not ended the stream yet. */
  readonly open: boolean
  /** Stops reading; a later event goes to `onLate`. */
  stop(): void
}

export interface ReadingListeners {
  /** If it throws, reading ends and the stream stays open. */
  onEvent(event: BridgeEvent): void
  /** Called with the first event after `stop`. */
  onLate(): void
}

/** Starts reading immediately. If `openStream` throws, `ended` rejects. */
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
      // A generator that is awaiting something handles `return()` only afterwards. So neither its completion nor its failure
      // matters here.
      void (async () => iterator?.return?.())().catch(() => {})
    },
  }
}
