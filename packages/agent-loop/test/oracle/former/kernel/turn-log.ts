import { AgentError } from '../base/agent-error.ts'
import { deepFreeze } from '../base/json.ts'
import type { CallRow, CommitExpectation, JournalRecord, RunRow, StoredMessage } from '../contract/journal.ts'
import type { DurableEvent } from '../events/types.ts'
import { Draft } from '../journal/draft.ts'
import type { Committed, EndCommitted } from '../journal/draft.ts'
import type { Turn } from './turn.ts'

/** The durable events that a run makes. */
type RunEvent = Exclude<DurableEvent, { type: 'session-start' | 'session-end' | 'run-queued' | 'branch-switched' }>

/** An event without what the turn adds to it. */
type EventFields<Event> = Event extends unknown ? Omit<Event, 'at' | 'runId' | 'turn' | 'seq'> : never
export type RunEventFields = EventFields<RunEvent>

type Note = Extract<RunEventFields, { type: 'error' | 'orchestration-step' }>

/** What the row of a run says besides where the turn stands. */
type RunEnding = Pick<RunRow, 'status' | 'reason' | 'pendingToolCalls' | 'pendingApprovals' | 'error' | 'compactionDue' | 'followed' | 'ending'>

/** What one turn stores, in the order in which it is drafted. The only way to its journal. */
export class TurnLog {
  readonly #turn: Turn
  readonly #draft: Draft
  /** `new` until its `turn-start` is drafted, `ended` from its `turn-end` on, `closed` behind its last commit. */
  #stage: 'new' | 'open' | 'ended' | 'closed' = 'new'
  /** Said before the beginning. */
  readonly #early: Note[] = []
  /** What the latest row of the run said. */
  #row: { readonly state: RunRow['state']; readonly ending: RunEnding } | undefined

  /** `ending`: of an earlier segment, stored before its step had ended. */
  constructor(turn: Turn, ending: RunRow['ending']) {
    this.#turn = turn
    this.#draft = new Draft(turn.run.journal, turn.clock, (event) => this.#show(event))
    this.#row = ending && { state: 'running', ending: { ending } }
  }

  /** Messages of this turn that are stored. */
  get newMessages(): readonly StoredMessage[] {
    return this.#draft.appended
  }

  /** The end of the segment is durable: nothing can change how it ended. */
  get hasEnded(): boolean {
    return this.#stage === 'ended' || this.#stage === 'closed'
  }

  /** Drafts a durable event. */
  record(fields: RunEventFields): void {
    this.#draft.add(this.#eventRecord(fields))
  }

  /** Drafts the beginning of the segment, and behind it what was said before. */
  begin(fields: Omit<Extract<RunEventFields, { type: 'turn-start' }>, 'type'>): void {
    this.record({ type: 'turn-start', ...fields })
    this.#stage = 'open'
    this.#row ??= { state: 'running', ending: {} }
    for (const note of this.#early.splice(0)) this.record(note)
  }

  /** Drafts what somebody beside the loop has to say, behind the beginning of the segment; nothing once it is closed. */
  note(fields: Note): void {
    if (this.#stage === 'new') this.#early.push(fields)
    else if (this.#stage !== 'closed') this.record(fields)
  }

  /** Drafts a row of the tool ledger. */
  writeCall(row: CallRow): void {
    this.#draft.add({ type: 'call', call: deepFreeze(row) })
  }

  /** Drafts where the run stands, as it will stand when it is stored. */
  writeRun(state: RunRow['state'], ending: RunEnding = {}): void {
    this.#row = { state, ending }
    this.#draft.addRun(this.#rowOfRun)
  }

  /** Drafts any other record. */
  write(record: Exclude<JournalRecord, { type: 'event' | 'call' | 'run' }>): void {
    this.#draft.add(deepFreeze(record))
  }

  /** Stores the draft. Rejects with `AgentError`: the run must then store nothing more. */
  commit(): Promise<Committed> {
    return this.commitIf()
  }

  /**
   * Stores the draft with `last` behind it, if the journal's state allows it. Else nothing is stored, and the draft
   * stands without `last`.
   */
  commitIf(expect?: CommitExpectation, last: readonly RunEventFields[] = []): Promise<Committed> {
    return this.#unlessFenced(() => this.#draft.commit(expect, last.map((fields) => this.#eventRecord(fields))))
  }

  /** Stores the draft as the end of the run, with `settled` after it unless other runs are queued. */
  commitEnd(expect: CommitExpectation): Promise<EndCommitted> {
    return this.#unlessFenced(() => this.#draft.commitEnd(this.#eventRecord({ type: 'settled' }), expect))
  }

  /** Where the draft stands. */
  get mark(): number {
    return this.#draft.length
  }

  /** Forgets what was drafted from the one mark to the other: what came behind it meanwhile stands. */
  backTo(mark: number, end: number): void {
    this.#draft.cut(mark, end)
    this.writeRun('running')
  }

  /** Nothing more is stored. */
  close(): void {
    this.#stage = 'closed'
  }

  #show(event: DurableEvent): void {
    const { run, unstored, hooks } = this.#turn
    if (event.type === 'turn-end') this.#stage = 'ended'
    if ((event.type === 'runtime-input' || event.type === 'user-message') && event.inputId !== undefined) {
      run.inbox.confirm(event.inputId)
      unstored.delete(event.inputId)
    }
    run.buffer.push(event)
    if (hooks.has('onEvent')) hooks.onEvent(event)
  }

  #unlessFenced<Result>(commit: () => Promise<Result>): Promise<Result> {
    if (this.#turn.stop.cause?.kind === 'fenced') return Promise.reject(new AgentError('fenced', 'the run belongs to another process'))
    this.#storeStates()
    return commit()
  }

  /** What extensions have written goes with what is stored anyway; of a turn that waits it is stored by itself. */
  #storeStates(): void {
    const { state, ending } = this.#row ?? { state: 'ended' }
    if (state === 'ended' || (state === 'running' && this.#draft.isEmpty)) return
    if (this.#turn.extensionStates.take()) this.writeRun(state, ending)
  }

  /** Its time and its freezing are those of the commit. */
  #eventRecord(fields: RunEventFields): Extract<JournalRecord, { type: 'event' }> {
    const { runId, number: turn } = this.#turn
    return { type: 'event', event: { type: fields.type, at: 0, runId, turn, ...(fields as object) } as DurableEvent }
  }

  readonly #rowOfRun = (): RunRow => {
    const { state, ending } = this.#row ?? { state: 'running' as const, ending: {} }
    const { runId, number: turn, step, usage, cost, attempt, elapsedMs, notBefore, waitedMs, overflowUsed, retry, activeTools, inputId } = this.#turn
    const extensionState = this.#turn.extensionStates.stored
    return {
      ...{ runId, state, turn, step, usage, attempt, elapsedMs },
      ...(cost && { cost }),
      ...(notBefore !== undefined && { notBefore }),
      ...(waitedMs > 0 && { waitedMs }),
      ...(overflowUsed && { overflowUsed }),
      ...(retry && { retry }),
      ...(activeTools && { activeTools: [...activeTools] }),
      ...(inputId !== undefined && { inputMessageId: inputId }),
      ...(extensionState && { extensionState }),
      ...ending,
    }
  }
}
