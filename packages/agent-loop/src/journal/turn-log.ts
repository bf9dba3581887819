import type { Clock } from '@bowline/llm'
import { AgentError, messageOf } from '../base/agent-error.ts'
import { deepFreeze, freezeWithin } from '../base/json.ts'
import type { CallRow, CommitExpectation, CommitOutcome, Journal, JournalRecord, RunRow, StoredMessage } from '../contract/journal.ts'
import type { DurableEvent } from '../events/agent-event.ts'

/** The durable events that a run makes. */
type RunEvent = Exclude<DurableEvent, { type: 'session-start' | 'session-end' | 'run-queued' | 'branch-switched' }>

/** An event without what the log adds to it. */
export type FactsOf<Event> = Event extends unknown ? Omit<Event, 'at' | 'runId' | 'turn' | 'seq'> : never
export type EventFacts = FactsOf<RunEvent>

type EventRecord = Extract<JournalRecord, { type: 'event' }>

/** What code beside the loop may say at any time. */
export type Note = Extract<EventFacts, { type: 'error' | 'orchestration-step' }>

/** What the row of a run says besides where the turn stands. */
type RunEnding = Pick<RunRow, 'status' | 'reason' | 'pendingToolCalls' | 'pendingApprovals' | 'error' | 'compactionDue' | 'followed' | 'ending'>

/** The rest of the row. */
export type RunFacts = Omit<RunRow, 'state' | keyof RunEnding>

export type Committed = 'stored' | Extract<CommitOutcome, { ok: false }>['reason']
export type EndCommitted = Exclude<Committed, 'runs-queued' | 'nothing-queued'>

/** Whose records a log stores. */
export interface LogOwner {
  readonly runId: string
  readonly number: number
  readonly clock: Clock
  /** Another process owns the run: nothing more may be stored. */
  readonly isFenced: boolean
  /** What a commit waits for. */
  readonly owed?: Promise<void> | undefined
  /** Told of what a commit has made durable, in its order. Must not throw. */
  show(events: readonly DurableEvent[]): void
  /** Where the turn stands now: asked once per commit that stores the row of the run. */
  rowFacts(): RunFacts
  /** Whether state of plug-ins has changed since it was asked last. */
  takeStates(): boolean
}

const mostEndTries = 20
const nothing: readonly EventFacts[] = []
const stored: Promise<Committed> = Promise.resolve('stored')

/**
 * What one turn stores, in the order in which it is drafted: the only way to its journal. Records between two boundaries
 * are stored together; events are handed on as durable only after their commit.
 */
export class TurnLog {
  readonly #journal: Journal
  readonly #owner: LogOwner
  #records: JournalRecord[] = []
  /** The next commit stores the row of the run, as the turn stands then. */
  #rowDue = false
  #row: { readonly state: RunRow['state']; readonly ending: RunEnding } | undefined
  #appended: StoredMessage[] = []
  #commits = 0
  /** `new` until its `turn-start` is drafted, `ended` once its `turn-end` is stored, `closed` after its last commit. */
  #stage: 'new' | 'open' | 'ended' | 'closed' = 'new'
  /** Notes from before the beginning. */
  readonly #early: Note[] = []

  /** `ending`: of an earlier segment, stored before its step had ended. */
  constructor(journal: Journal, owner: LogOwner, ending?: RunRow['ending']) {
    this.#journal = journal
    this.#owner = owner
    this.#row = ending && { state: 'running', ending: { ending } }
  }

  /** Stored messages of this turn, without withdrawn ones. */
  get newMessages(): readonly StoredMessage[] {
    return this.#appended
  }

  /** The end of the segment is durable: nothing can change how it ended. */
  get hasEnded(): boolean {
    return this.#stage === 'ended' || this.#stage === 'closed'
  }

  /** Drafts a durable event, and makes it of the facts themselves: pass an object that nothing else uses. The commit adds its time and freezes it. */
  record(facts: EventFacts): void {
    this.#records.push(recordOf(facts, this.#owner))
  }

  /** Drafts the beginning of the segment, and after it what was said before. */
  begin(facts: Omit<Extract<EventFacts, { type: 'turn-start' }>, 'type'>): void {
    this.record({ type: 'turn-start', ...facts })
    this.#stage = 'open'
    this.#row ??= { state: 'running', ending: {} }
    for (const note of this.#early.splice(0)) this.record(note)
  }

  /** Drafts a note after the beginning of the segment; drops it once the log is closed. */
  note(note: Note): void {
    if (this.#stage === 'new') this.#early.push(note)
    else if (this.#stage !== 'closed') this.record(note)
  }

  /** Drafts a row of the tool ledger. */
  writeCall(row: CallRow): void {
    this.#records.push({ type: 'call', call: deepFreeze(row) })
  }

  /** Drafts the row of the run, which is made when it is stored. */
  writeRun(state: RunRow['state'], ending: RunEnding = {}): void {
    this.#row = { state, ending }
    this.#rowDue = true
  }

  /** Drafts any other record. */
  write(record: Exclude<JournalRecord, { type: 'event' | 'call' | 'run' }>): void {
    this.#records.push(deepFreeze(record))
  }

  /**
   * Stores the draft with `last` after it, if the journal's state is as expected. Else nothing is stored, and the draft
   * stays without `last`. Rejects with `AgentError`: the run must then store nothing more.
   */
  commit(expect?: CommitExpectation, last: readonly EventFacts[] = nothing): Promise<Committed> {
    const owner = this.#owner
    if (owner.owed) return owner.owed.then(() => this.commit(expect, last))
    if (owner.isFenced) return Promise.reject(new AgentError('fenced', 'the run belongs to another process'))
    this.#takeStates()
    if (this.#records.length === 0 && !this.#rowDue && last.length === 0) return stored
    return this.#store(expect, last)
  }

  /**
   * Stores the draft as the end of a run: with `settled` after it if no other run is queued, else without. What is queued
   * may change between the two commits: each expects that it is right.
   */
  async commitEnd(expect: CommitExpectation = {}): Promise<EndCommitted> {
    for (let tries = 0; tries < mostEndTries; tries++) {
      const nothingQueued = tries % 2 === 0
      const committed = await this.commit({ ...expect, nothingQueued }, nothingQueued ? [{ type: 'settled' }] : nothing)
      if (committed !== 'runs-queued' && committed !== 'nothing-queued') return committed
    }
    throw new AgentError('journal-failed', `the queue changed ${mostEndTries} times while the run ended`)
  }

  /** How many commits have been stored. */
  get commits(): number {
    return this.#commits
  }

  /** How many records are drafted. */
  get mark(): number {
    return this.#records.length
  }

  /** Forgets what was drafted from one mark to the other: what came after it meanwhile stays. */
  backTo(mark: number, end: number): void {
    this.#records.splice(mark, end - mark)
    this.writeRun('running')
  }

  /** Stores nothing more. */
  close(): void {
    this.#stage = 'closed'
  }

  async #store(expect: CommitExpectation | undefined, last: readonly EventFacts[]): Promise<Committed> {
    const drafted = this.#records
    const rowDue = this.#rowDue
    const records = this.#toStore(drafted, last)
    // What is drafted while the commit is under way belongs to the next one.
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

  /** The records in their order, then the row of the run, then `last`. One time tells readers what was one commit. */
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
        // A journal may have frozen it. What is in it is frozen since before the commit.
        const event = (Object.isFrozen(record.event) ? { ...record.event } : record.event) as Drafted<RunEvent>
        event.seq = firstSeq + events.length
        if (event.type === 'turn-end') this.#stage = 'ended'
        events.push(Object.freeze(event))
      } else if (record.type === 'append') this.#appended.push(record.message)
      else if (record.type === 'discard') this.#appended = this.#appended.filter(({ id }) => !record.messageIds.includes(id))
    }
    if (events.length > 0) this.#owner.show(events)
  }

  /** Changed states are stored with what is stored anyway; of a turn that waits they are stored by themselves. */
  #takeStates(): void {
    const row = this.#row
    if (!row || row.state === 'ended' || (row.state === 'running' && this.#records.length === 0 && !this.#rowDue)) return
    if (this.#owner.takeStates()) this.#rowDue = true
  }
}

function recordOf(facts: EventFacts, { runId, number: turn }: LogOwner): EventRecord {
  // In place: callers make the facts for the log alone.
  const event = facts as Drafted<RunEvent>
  event.at = 0
  event.runId = runId
  event.turn = turn
  return { type: 'event', event }
}

/** Of the rows of one call that are stored together only the last one counts. */
function latestRows(records: readonly JournalRecord[]): ReadonlyMap<string, JournalRecord> | undefined {
  let latest: Map<string, JournalRecord> | undefined
  for (const record of records) if (record.type === 'call') (latest ??= new Map()).set(record.call.toolCallId, record)
  return latest
}

function dated(record: EventRecord, at: number): EventRecord {
  // A journal that refused the commit may have frozen it.
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
