import type { Clock } from '@bowline/llm'
import { AgentError, messageOf } from '../base/agent-error.ts'
import { deepFreeze, freezeWithin } from '../base/json.ts'
import type { CallRow, CommitExpectation, CommitOutcome, Journal, JournalRecord, RunRow, StoredMessage } from '../contract/journal.ts'
import type { DurableEvent } from '../events/agent-event.ts'

/** The durable events that a run writes. */
type RunEvent = Exclude<DurableEvent, { type: 'session-start' | 'session-end' | 'run-queued' | 'branch-switched' }>

/** An event without the fields that the log adds. */
export type FactsOf<Event> = Event extends unknown ? Omit<Event, 'at' | 'runId' | 'turn' | 'seq'> : never
export type EventFacts = FactsOf<RunEvent>

type EventRecord = Extract<JournalRecord, { type: 'event' }>

/** An event that code outside of the loop may write at any time. */
export type Note = Extract<EventFacts, { type: 'error' | 'orchestration-step' }>

/** Fields of the run's row that do not tell the progress of the turn. */
type RunEnding = Pick<
  RunRow,
  'status' | 'reason' | 'pendingToolCalls' | 'pendingApprovals' | 'error' | 'compactionDue' | 'followed' | 'ending'
>

/** The other fields of the row. */
export type RunFacts = Omit<RunRow, 'state' | keyof RunEnding>

export type Committed = 'stored' | Extract<CommitOutcome, { ok: false }>['reason']
export type EndCommitted = Exclude<Committed, 'runs-queued' | 'nothing-queued'>

/** The turn whose records a log stores. */
export interface LogOwner {
  readonly runId: string
  readonly number: number
  readonly clock: Clock
  /** True: another process owns the run, so nothing more may be stored. */
  readonly isFenced: boolean
  /** Work that a commit must wait for. */
  readonly owed?: Promise<void> | undefined
  /** Called with the events that a commit has stored, in their order. Must not throw. */
  show(events: readonly DurableEvent[]): void
  /** Returns the current state of the turn. Called once per commit that stores the row of the run. */
  rowFacts(): RunFacts
  /** Returns whether state of plug-ins has changed since the last call. */
  takeStates(): boolean
}

const mostEndTries = 20
const nothing: readonly EventFacts[] = []
const stored: Promise<Committed> = Promise.resolve('stored')

/**
 * Stores the records of one turn, in the order in which they are drafted. It is the only way to the turn's journal. Records between
 * two boundaries are stored together; events are published as durable only after their commit.
 */
export class TurnLog {
  readonly #journal: Journal
  readonly #owner: LogOwner
  #records: JournalRecord[] = []
  /** True: the next commit stores the row of the run, with the state of the turn at that time. */
  #rowDue = false
  #row: { readonly state: RunRow['state']; readonly ending: RunEnding } | undefined
  #appended: StoredMessage[] = []
  #commits = 0
  /** `new` until its `turn-start` is drafted, `ended` once its `turn-end` is stored, `closed` after its last commit. */
  #stage: 'new' | 'open' | 'ended' | 'closed' = 'new'
  /** Notes from before the `turn-start`. */
  readonly #early: Note[] = []

  /** `ending`: the outcome that an earlier segment has stored before the end of the turn. */
  constructor(journal: Journal, owner: LogOwner, ending?: RunRow['ending']) {
    this.#journal = journal
    this.#owner = owner
    this.#row = ending && { state: 'running', ending: { ending } }
  }

  /** Stored messages of this turn, without withdrawn ones. */
  get newMessages(): readonly StoredMessage[] {
    return this.#appended
  }

  /** True once the end of the segment is stored: nothing can change how it ended. */
  get hasEnded(): boolean {
    return this.#stage === 'ended' || this.#stage === 'closed'
  }

  /**
   * Drafts a durable event. It becomes the event itself, so pass an object that nothing else uses. The commit adds its time and
   * freezes it.
   */
  record(facts: EventFacts): void {
    this.#records.push(recordOf(facts, this.#owner))
  }

  /** Drafts the beginning of the segment, and after it the notes from before. */
  begin(facts: Omit<Extract<EventFacts, { type: 'turn-start' }>, 'type'>): void {
    this.record({ type: 'turn-start', ...facts })
    this.#stage = 'open'
    this.#row ??= { state: 'running', ending: {} }
    for (const note of this.#early.splice(0)) this.record(note)
  }

  /** Drafts a note after the beginning of the segment. Drops it once the log is closed. */
  note(note: Note): void {
    if (this.#stage === 'new') this.#early.push(note)
    else if (this.#stage !== 'closed') this.record(note)
  }

  /** Drafts a row of the tool ledger. */
  writeCall(row: CallRow): void {
    this.#records.push({ type: 'call', call: deepFreeze(row) })
  }

  /** Drafts the row of the run. Its content is read when it is stored. */
  writeRun(state: RunRow['state'], ending: RunEnding = {}): void {
    this.#row = { state, ending }
    this.#rowDue = true
  }

  /** Drafts any other record. */
  write(record: Exclude<JournalRecord, { type: 'event' | 'call' | 'run' }>): void {
    this.#records.push(deepFreeze(record))
  }

  /**
   * Stores the draft with `last` after it, if the journal's state is as expected. Otherwise it stores nothing and keeps the draft,
   * without `last`. Rejects with `AgentError`: the run must then store nothing more.
   */
  commit(expect?: CommitExpectation, last: readonly EventFacts[] = nothing): Promise<Committed> {
    const owner = this.#owner
    if (owner.owed) return owner.owed.then(() => this.commit(expect, last))
    if (owner.isFenced) return Promise.reject(new AgentError('fenced', 'another process has taken over the run'))
    this.#takeStates()
    if (this.#records.length === 0 && !this.#rowDue && last.length === 0) return stored
    return this.#store(expect, last)
  }

  /**
   * Stores the draft as the end of a run. If no other run is queued, `settled` follows it. The queue may change between two tries,
   * so each try states the queue that it expects.
   */
  async commitEnd(expect: CommitExpectation = {}): Promise<EndCommitted> {
    for (let tries = 0; tries < mostEndTries; tries++) {
      const nothingQueued = tries % 2 === 0
      const committed = await this.commit({ ...expect, nothingQueued }, nothingQueued ? [{ type: 'settled' }] : nothing)
      if (committed !== 'runs-queued' && committed !== 'nothing-queued') return committed
    }
    throw new AgentError('journal-failed', `the queue changed ${mostEndTries} times while the run ended`)
  }

  /** Number of commits that have been stored. */
  get commits(): number {
    return this.#commits
  }

  /** Number of records that are drafted. */
  get mark(): number {
    return this.#records.length
  }

  /** Drops the records that were drafted between two marks. Later ones stay. */
  backTo(mark: number, end: number): void {
    this.#records.splice(mark, end - mark)
    this.writeRun('running')
  }

  /** Closes the log: notes are dropped from now on. */
  close(): void {
    this.#stage = 'closed'
  }

  async #store(expect: CommitExpectation | undefined, last: readonly EventFacts[]): Promise<Committed> {
    const drafted = this.#records
    const rowDue = this.#rowDue
    const records = this.#toStore(drafted, last)
    // Records that are drafted during the commit belong to the next one.
    this.#records = []
    this.#rowDue = false
    let outcome: CommitOutcome
    try {
      outcome = await this.#journal.commit(records, expect)
    } catch (error) {
      throw failureOf(error)
    }
    if (!outcome.ok) {
      this.#records = [...drafted, ...this.#records]
      this.#rowDue ||= rowDue
      return outcome.reason
    }
    this.#commits++
    this.#publish(records, outcome.firstSeq)
    return 'stored'
  }

  /**
   * Returns the records in their order, then the row of the run, then `last`. All events get the same time, by which readers
   * recognise a commit.
   */
  #toStore(drafted: readonly JournalRecord[], last: readonly EventFacts[]): readonly JournalRecord[] {
    const at = this.#owner.clock.now()
    const latest = latestRows(drafted)
    const records: JournalRecord[] = []
    for (const record of drafted) {
      if (record.type === 'event') records.push(dated(record, at))
      else if (record.type !== 'call' || latest?.get(record.call.toolCallId) === record) records.push(record)
    }
    if (this.#rowDue) {
      const { state, ending } = this.#row ?? { state: 'running' as const, ending: {} }
      records.push({ type: 'run', run: deepFreeze({ ...this.#owner.rowFacts(), state, ...ending }) })
    }
    for (const facts of last) records.push(dated(recordOf(facts, this.#owner), at))
    return records
  }

  #publish(records: readonly JournalRecord[], firstSeq: number): void {
    const events: DurableEvent[] = []
    for (const record of records) {
      if (record.type === 'event') {
        // A journal may have frozen the event. Its content is frozen since before the commit.
        const event = (Object.isFrozen(record.event) ? { ...record.event } : record.event) as Drafted<RunEvent>
        event.seq = firstSeq + events.length
        if (event.type === 'turn-end') this.#stage = 'ended'
        events.push(Object.freeze(event))
      } else if (record.type === 'append') this.#appended.push(record.message)
      else if (record.type === 'discard') this.#appended = this.#appended.filter(({ id }) => !record.messageIds.includes(id))
    }
    if (events.length > 0) this.#owner.show(events)
  }

  /** Stores changed states with other records of the turn. A suspended turn has no others, so its states are stored alone. */
  #takeStates(): void {
    const row = this.#row
    if (!row || row.state === 'ended' || (row.state === 'running' && this.#records.length === 0 && !this.#rowDue)) return
    if (this.#owner.takeStates()) this.#rowDue = true
  }
}

function recordOf(facts: EventFacts, { runId, number: turn }: LogOwner): EventRecord {
  // Changes the object in place: callers make the facts for the log alone.
  const event = facts as Drafted<RunEvent>
  event.at = 0
  event.runId = runId
  event.turn = turn
  return { type: 'event', event }
}

/** Returns the last row of each call: only that one counts among rows that are stored together. */
function latestRows(records: readonly JournalRecord[]): ReadonlyMap<string, JournalRecord> | undefined {
  let latest: Map<string, JournalRecord> | undefined
  for (const record of records) if (record.type === 'call') (latest ??= new Map()).set(record.call.toolCallId, record)
  return latest
}

function dated(record: EventRecord, at: number): EventRecord {
  // A journal that refused the commit may have frozen the event.
  if (Object.isFrozen(record.event)) return dated({ type: 'event', event: { ...record.event } }, at)
  const event = record.event as Drafted<RunEvent>
  event.at = at
  freezeWithin(event)
  return record
}

type Drafted<Event> = { -readonly [Key in keyof Event]: Event[Key] }

function failureOf(error: unknown): AgentError {
  if (AgentError.isInstance(error) && error.code === 'fenced') return error
  return new AgentError('journal-failed', `the commit failed: ${messageOf(error)}`, { cause: error })
}
