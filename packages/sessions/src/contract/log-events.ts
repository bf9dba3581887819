import type { AgentEvent } from '@bowline/agent-loop'

/** Events of a log in order. Each iteration reads from the start position on. */
export interface LogEvents extends AsyncIterable<LoggedEvent> {
  [Symbol.asyncIterator](): LogIterator
}

/** An iterator over a log with a synchronous `take` for events already in memory. */
export interface LogIterator extends AsyncIterator<LoggedEvent> {
  [Symbol.asyncIterator](): LogIterator
  /**
   * The next event, when it is at hand; otherwise `next` must be asked, which may have it too. Must not be called while
   * `next` is pending. It lets a reader take at once what has come while it did something else.
   */
  take(): LoggedEvent | undefined
}

/** An event with the position to hand back for the ones after it. */
export type LoggedEvent = AgentEvent & { readonly cursor: string }
