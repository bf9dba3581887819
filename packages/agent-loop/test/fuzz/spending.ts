import type { RecordingJournal } from '../../src/testing/index.ts'
import { tokensOf } from './shared-budget.ts'

/** All tokens that a conversation and those below it tell of, each counted once. */
export function tokensToldIn({ events, childJournals }: RecordingJournal): number {
  const below = [...childJournals.values()].reduce((sum, child) => sum + tokensToldIn(child), 0)
  return events.reduce((sum, event) => {
    if (event.type === 'message-end') return sum + tokensOf(event.message)
    // A subagent that has a journal here has told of it there.
    if (event.type === 'child-end') return childJournals.has(event.childRunId) ? sum : sum + tokensOf(event)
    return event.type === 'usage' && event.purpose !== 'child' ? sum + tokensOf(event) : sum
  }, below)
}
