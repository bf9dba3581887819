import type { StoredEvent } from '../store/records.ts'

/** The events of one commit as readers get them: with their numbers in the log. */
export function numbered(events: readonly Omit<StoredEvent, 'seq'>[], firstSeq: number): readonly StoredEvent[] {
  return events.map((event, index) => ({ ...event, seq: firstSeq + index }) as StoredEvent)
}
