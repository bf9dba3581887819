import type { Clock } from '@bowline/llm'
import { AgentError, messageOf } from '../base/agent-error.ts'
import { deepFreeze, freezeWithin } from '../base/json.ts'
import type { CommitExpectation, CommitOutcome, Journal, JournalRecord, RunRow, StoredMessage } from '../contract/journal.ts'
import type { DurableEvent } from '../events/types.ts'

export type DraftedRecord = Exclude<JournalRecord, { type: 'run' }>

export type Committed = 'stored' | Extract<CommitOutcome, { ok: false }>['reason']
export type EndCommitted = Exclude<Committed, 'runs-queued' | 'nothing-queued'>

const mostEndTries = 20

/**
 * The records of the next commit. What stands between two boundaries gathers here and is stored together; events are
 * handed on as durable only when their commit has resolved.
 */
export class Draft {
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #publish: (event: DurableEvent) => void
  #records: JournalRecord[] = []
  /** Makes the row of the run that goes with the next commit. */
  #rowOfRun: (() => RunRow) | undefined
  #appended: StoredMessage[] = []

  /** `publish` is told of each event when it is durable. */
  constructor(journal: Journal, clock: Clock, publish: (event: DurableEvent) => void) {
    this.#journal = journal
    this.#clock = clock
    this.#publish = publish
  }

  /** Messages that are stored, without those that were withdrawn again. */
  get appended(): readonly StoredMessage[] {
    return this.#appended
  }

  get isEmpty(): boolean {
    return this.#records.length === 0 && !this.#rowOfRun
  }

  /** A place between the records, for `cut`. */
  get length(): number {
    return this.#records.length
  }

  add(record: DraftedRecord): void {
    this.#records.push(record)
  }

  /** The row of the run is made when it is stored: it says where the run stands then. */
  addRun(rowOfRun: () => RunRow): void {
    this.#rowOfRun = rowOfRun
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
    if (this.isEmpty && last.length === 0) return 'stored'
    const given = this.#records.length
    const rowOfRun = this.#rowOfRun
    const records = this.#toStore(last)
    this.#rowOfRun = undefined
    const outcome = await this.#journal.commit(records, expect).catch(rethrow)
    if (!outcome.ok) {
      this.#rowOfRun ??= rowOfRun
      return outcome.reason
    }
    // What was added while the commit was under way belongs to the next one.
    this.#records = this.#records.slice(given)
    let seq = outcome.firstSeq
    for (const record of records) {
      if (record.type === 'event') this.#publish(numbered(record.event, seq++))
      else if (record.type === 'append') this.#appended.push(record.message)
      else if (record.type === 'discard') this.#appended = this.#appended.filter(({ id }) => !record.messageIds.includes(id))
    }
    return 'stored'
  }

  /**
   * Stores the draft as the end of a run: with `settled` after it if no other run is queued, else without. What is queued
   * may change between the two commits: each expects that it is right.
   */
  async commitEnd(settled: JournalRecord, expect: CommitExpectation = {}): Promise<EndCommitted> {
    for (let tries = 0; tries < mostEndTries; tries++) {
      const nothingQueued = tries % 2 === 0
      const committed = await this.commit({ ...expect, nothingQueued }, nothingQueued ? [settled] : [])
      if (committed !== 'runs-queued' && committed !== 'nothing-queued') return committed
    }
    throw new AgentError('journal-failed', `the queue changed ${mostEndTries} times while the run ended`)
  }

  /** The records in their order, then the row of the run, then `last`. */
  #toStore(last: readonly JournalRecord[]): readonly JournalRecord[] {
    const at = this.#clock.now()
    const records = latestOfCalls(this.#records).map((record) => dated(record, at))
    if (this.#rowOfRun) records.push({ type: 'run', run: deepFreeze(this.#rowOfRun()) })
    for (const record of last) records.push(dated(record, at))
    return records
  }
}

/** Of the rows of one call that are stored together only the last one counts. */
function latestOfCalls(records: readonly JournalRecord[]): readonly JournalRecord[] {
  const last = new Map<string, JournalRecord>()
  for (const record of records) if (record.type === 'call') last.set(record.call.toolCallId, record)
  return records.filter((record) => record.type !== 'call' || last.get(record.call.toolCallId) === record)
}

/** What is stored together happened together: one time tells readers which events were one commit. */
function dated(record: JournalRecord, at: number): JournalRecord {
  if (record.type !== 'event') return record
  const event = Object.isFrozen(record.event) ? { ...record.event, at } : Object.assign(record.event, { at })
  freezeWithin(event)
  return { type: 'event', event }
}

/** The event as readers get it: what is in it is frozen since before the commit. */
function numbered(event: DurableEvent, seq: number): DurableEvent {
  return Object.freeze(Object.isFrozen(event) ? { ...event, seq } : Object.assign(event, { seq }))
}

function rethrow(error: unknown): never {
  if (AgentError.isInstance(error) && error.code === 'fenced') throw error
  throw new AgentError('journal-failed', `the commit failed: ${messageOf(error)}`, { cause: error })
}
