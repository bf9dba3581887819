import type { Clock } from '@bowline/llm'
import { AgentError, messageOf } from '../agent-error.ts'
import type { DurableEvent } from '../events/types.ts'
import type { CommitExpectation, Journal, JournalRecord, StoredMessage } from './journal.ts'

/**
 * The records of the next commit. What stands between two boundaries gathers here and is stored together; events are
 * handed on as durable only when their commit has resolved.
 */
export class Draft {
  readonly #journal: Journal
  readonly #publish: (event: DurableEvent) => void
  readonly #clock: Clock
  #records: JournalRecord[] = []
  /** Messages that are stored. */
  readonly appended: StoredMessage[] = []

  constructor(journal: Journal, clock: Clock, publish: (event: DurableEvent) => void) {
    this.#journal = journal
    this.#clock = clock
    this.#publish = publish
  }

  add(record: JournalRecord): void {
    this.#records.push(record)
  }

  /**
   * Stores the draft, and `last` behind it. False when the expectation was not met: then nothing was stored and the
   * draft stands, without `last`. Rejects with `AgentError`.
   */
  async commit(expect?: CommitExpectation, last: readonly JournalRecord[] = []): Promise<boolean> {
    if (this.#records.length + last.length === 0) return true
    const at = this.#clock.now()
    const records = [...this.#records, ...last].map((record) => dated(record, at))
    const outcome = await this.#journal.commit(records, expect).catch(rethrow)
    if (!outcome.ok) return false
    this.#records = []
    let seq = outcome.firstSeq
    for (const record of records) {
      if (record.type === 'append') this.appended.push(record.message)
      if (record.type === 'event') this.#publish(Object.freeze({ ...record.event, seq: seq++ }))
    }
    return true
  }
}

/** What is stored together happened together: one time tells readers which events were one commit. */
function dated(record: JournalRecord, at: number): JournalRecord {
  return record.type === 'event' ? { type: 'event', event: Object.freeze({ ...record.event, at }) } : record
}

function rethrow(error: unknown): never {
  if (AgentError.isInstance(error) && error.code === 'fenced') throw error
  throw new AgentError('journal-failed', `the commit failed: ${messageOf(error)}`, { cause: error })
}
