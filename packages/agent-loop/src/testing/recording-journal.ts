import { checkJournal, checkRequired } from '../base/checks.ts'
import type { Journal, JournalRecord } from '../contract/journal.ts'
import type { AgentEvent, DurableEvent } from '../events/types.ts'
import { otherMembers } from './other-members.ts'

export interface RecordingJournal extends Journal {
  /** The records of each commit that was stored, in order. */
  readonly commits: readonly (readonly JournalRecord[])[]
  /** Everything that happened, deltas and numbered durable events, in order. */
  readonly log: readonly AgentEvent[]
  /** The durable part of the log. */
  readonly events: readonly DurableEvent[]
  /** The journals of child runs, by key: they are recorded too. */
  readonly childJournals: ReadonlyMap<string, RecordingJournal>
}

/** A journal that remembers what went through it. */
export function recordingJournal(journal: Journal): RecordingJournal {
  checkJournal('journal', journal)
  const commits: (readonly JournalRecord[])[] = []
  const log: AgentEvent[] = []
  const events: DurableEvent[] = []
  const childJournals = new Map<string, RecordingJournal>()
  const child = journal.child?.bind(journal)
  return {
    ...otherMembers(journal),
    ...{ commits, log, events, childJournals },
    load: () => journal.load(),
    async commit(records, expect) {
      const outcome = await journal.commit(records, expect)
      if (!outcome.ok) return outcome
      commits.push([...records])
      let seq = outcome.firstSeq
      for (const record of records) {
        if (record.type !== 'event') continue
        const event = { ...record.event, seq: seq++ }
        events.push(event)
        log.push(event)
      }
      return outcome
    },
    publish(deltas) {
      checkRequired('deltas', deltas, 'a list of deltas', Array.isArray)
      log.push(...deltas)
      journal.publish?.(deltas)
    },
    ...(child && {
      child(key, meta) {
        const known = childJournals.get(key)
        if (known) return known
        const recorded = recordingJournal(child(key, meta))
        childJournals.set(key, recorded)
        return recorded
      },
    }),
  }
}
