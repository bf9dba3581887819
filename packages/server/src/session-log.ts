import type { LoggedEvent } from '@bowline/sessions'

/** Cursor before the first event of a log. */
export const logStart = '0'

/** Returns the number of the last durable event up to a position. */
export function numberOf(cursor: string): number {
  return Number.parseInt(cursor, 10)
}

/** Reads one event and stops reading. */
export async function firstEvent(events: AsyncIterable<LoggedEvent>): Promise<LoggedEvent | undefined> {
  for await (const event of events) return event
  return undefined
}
