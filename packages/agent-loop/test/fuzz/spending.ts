import type { RecordingJournal } from '@bowline/testing'
import { tokensOf } from './shared-budget.ts'

/** Returns all tokens in the logs of a conversation and its subagents, each counted once. */
export function tokensToldIn({ events, childJournals }: RecordingJournal): number {
  const below = [...childJournals.values()].reduce((sum, child) => sum + tokensToldIn(child), 0)
  return events.reduce((sum, event) => {
    if (event.type === 'message-end') return sum + tokensOf(event.message)
    // The usage of a subagent with a journal here is in that journal.
    if (event.type === 'child-end') return childJournals.has(event.childRunId) ? sum : sum + tokensOf(event)
    return event.type === 'usage' && event.purpose !== 'child' ? sum + tokensOf(event) : sum
  }, below)
}
