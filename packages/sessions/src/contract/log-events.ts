import type { AgentEvent } from '@bowline/agent-loop'

/** Events of a log in order. Each iteration starts at the start position. */
export interface LogEvents extends AsyncIterable<LoggedEvent> {
  [Symbol.asyncIterator](): LogIterator
}

/** An iterator over a log with a synchronous `take` for events already in memory. */
export interface LogIterator extends AsyncIterator<LoggedEvent> {
  [Symbol.asyncIterator](): LogIterator
  /** Returns the next event if it is in memory, else undefined; `next` may still return one. Must not be called while `next` is pending. */
  take(): LoggedEvent | undefined
}

/** An event with its cursor. Pass the cursor back to read the events after it. */
export type LoggedEvent = AgentEvent & { readonly cursor: string }
