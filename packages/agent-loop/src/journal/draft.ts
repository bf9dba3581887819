import type { Clock } from '@bowline/llm'
import { AgentError, messageOf } from '../agent-error.ts'
import type { DurableEvent } from '../events/types.ts'
import { deepFreeze } from '../json.ts'
import type { CommitExpectation, CommitOutcome, Journal, JournalRecord, StoredMessage } from './journal.ts'

type Committed = 'stored' | Extract<CommitOutcome, { ok: false }>['reason']

/**
 * The records of the next commit. What stands between two boundaries gathers here and is stored together; events are
 * handed on as durable only when their commit has resolved.
 */
export class Draft {
  readonly #journal: Journal
  readonly #publish: (event: DurableEvent) => void
  readonly #clock: Clock
  #records: JournalRecord[] = []
  #appended: StoredMessage[] = []

  constructor(journal: Journal, clock: Clock, publish: (event: DurableEvent) => void) {
    this.#journal = journal
    this.#clock = clock
    this.#publish = publish
  }

  /** Messages that are stored, without those that were withdrawn again. */
  get appended(): readonly StoredMessage[] {
    return this.#appended
  }

  get length(): number {
    return this.#records.length
  }

  add(record: JournalRecord): void {
    this.#records.push(record)
  }

  /** Forgets the records from one place to another. */
  cut(from: number, to: number): void {
    this.#records.splice(from, to - from)
  }

  /**
   * Stores the draft, and `last` behind it. When the expectation is not met nothing is stored and the draft stands,
   * without `last`. Rejects with `AgentError`.
   */
  async commit(expect?: CommitExpectation, last: readonly JournalRecord[] = []): Promise<Committed> {
    if (this.#records.length + last.length === 0) return 'stored'
    const at = this.#clock.now()
    const records = latestRows(last.length === 0 ? this.#records : [...this.#records, ...last]).map((record) => dated(record, at))
    const given = this.#records.length
    const outcome = await this.#journal.commit(records, expect).catch(rethrow)
    if (!outcome.ok) return outcome.reason
    // What was added while the commit was under way belongs to the next one.
    this.#records.splice(0, given)
    let seq = outcome.firstSeq
    for (const record of records) {
      this.#keep(record)
      if (record.type === 'event') this.#publish(Object.freeze({ ...record.event, seq: seq++ }))
    }
    return 'stored'
  }

  #keep(record: JournalRecord): void {
    if (record.type === 'append') this.#appended.push(record.message)
    if (record.type === 'discard') this.#appended = this.#appended.filter(({ id }) => !record.messageIds.includes(id))
  }
}

/** Of the rows of the run, and of one call, that are stored together only the last one counts. */
function latestRows(records: readonly JournalRecord[]): readonly JournalRecord[] {
  if (records.filter(isRow).length < 2) return records
  const seen = new Set<string | undefined>()
  const kept: JournalRecord[] = []
  for (let place = records.length - 1; place >= 0; place--) {
    const record = records[place]
    if (!record || (isRow(record) && seen.has(rowKey(record)))) continue
    if (isRow(record)) seen.add(rowKey(record))
    kept.push(record)
  }
  return kept.reverse()
}

type Row = Extract<JournalRecord, { type: 'run' | 'call' }>

function isRow(record: JournalRecord): record is Row {
  return record.type === 'run' || record.type === 'call'
}

/** Undefined for the one row of the run. */
function rowKey(row: Row): string | undefined {
  return row.type === 'call' ? row.call.toolCallId : undefined
}

/** What is stored together happened together: one time tells readers which events were one commit. */
function dated(record: JournalRecord, at: number): JournalRecord {
  if (record.type !== 'event') return record
  // One that was refused before is frozen already.
  const event = Object.isFrozen(record.event) ? { ...record.event, at } : Object.assign(record.event, { at })
  return { type: 'event', event: deepFreeze(event) }
}

function rethrow(error: unknown): never {
  if (AgentError.isInstance(error) && error.code === 'fenced') throw error
  throw new AgentError('journal-failed', `the commit failed: ${messageOf(error)}`, { cause: error })
}
