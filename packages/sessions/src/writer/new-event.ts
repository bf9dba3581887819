import type { DurableEvent } from '@bowline/agent-loop'
import type { CommitResult, NewEvent, PartialEvent } from '../contract/batch.ts'
import type { StoredEvent } from '../contract/records.ts'

/** Returns the event for storage, with references instead of data that other records hold. */
export function newEvent(event: DurableEvent): NewEvent {
  switch (event.type) {
    case 'user-message':
    case 'message-end': {
      const { message: _, ...rest } = event
      return { event: rest, refers: { entryId: event.messageId } }
    }
    case 'runtime-input': {
      const { message, ...rest } = event
      return message?.id === undefined ? { event: rest } : { event: rest, refers: { entryId: message.id } }
    }
    case 'tool-execution-end': {
      const { message: _, ...rest } = event
      const { runId, step, toolCallId } = event
      return { event: rest, refers: { call: { runId, step, toolCallId } } }
    }
    default:
      return { event: event as unknown as PartialEvent }
  }
}

/** Numbers the events of one commit, and adds its mark to the first, as readers get them. */
export function numbered(
  events: readonly Omit<StoredEvent, 'seq'>[],
  { firstSeq, mark }: Extract<CommitResult, { ok: true }>,
): readonly StoredEvent[] {
  return events.map((event, index) => ({ ...event, seq: firstSeq + index, ...(index === 0 && mark && { commit: mark }) }) as StoredEvent)
}
