import type { CallRow, DurableEvent, JournalRecord } from '@bowline/agent-loop'
import { addCost, addUsage, type Usage } from '@bowline/llm'
import type { CallKey, RunPatch, SessionPatch, Write } from '../contract/batch.ts'
import type { EntryRecord, InboxRecord, RunSpending, ToolCallRecord, TurnState } from '../contract/records.ts'
import type { ConsumedInput } from './journal-inbox.ts'
import { newEvent } from './new-event.ts'
import { callRecord, type ConsumedAnswer, type ConsumedDecision } from './ledger-rows.ts'
import { PathDraft } from './path-draft.ts'
import { restPatchOf, stepStateOf, turnStateOf } from './turn-state.ts'

/** What a commit builds on: where the run stands before it. */
export interface RunStand {
  readonly runId: string
  readonly session: string
  readonly leaf: string | null
  readonly usage: Usage
  /** Undefined: no turn is open. */
  readonly turnState: TurnState | undefined
  /** Undefined: there is nobody above to whom it would be told. */
  readonly spent: RunSpending | undefined
  /** The step of each call whose result is not in the transcript yet: its entry refers to the ledger row. */
  readonly callSteps: ReadonlyMap<string, number>
  /** Answers given from outside, by tool call id, that a settled call takes out of the inbox. */
  readonly answers: ReadonlyMap<string, ConsumedAnswer>
  /** Decisions given from outside, by approval id, that a decided call takes out of the inbox. */
  readonly decisions: ReadonlyMap<string, ConsumedDecision>
  /** What becomes of the inbox rows of an input that is taken. */
  readonly inputs: ReadonlyMap<string, ConsumedInput>
}

export interface PathSource {
  /** Stored entries that the commit may withdraw, newest first. */
  readonly tail: readonly EntryRecord[]
  readonly nextId: () => string
}

export interface RunCommit {
  readonly writes: readonly Write[]
  readonly events: readonly DurableEvent[]
  /** Where the run stands after it. */
  readonly after: RunStand
}

/** The records of one boundary as the writes of one batch. */
export function runCommit(records: readonly JournalRecord[], stand: RunStand, { tail, nextId }: PathSource): RunCommit {
  const draft = new CommitDraft(stand, new PathDraft(stand.leaf, stand.runId, tail, nextId))
  for (const record of records) draft.take(record)
  return draft.commit()
}

class CommitDraft {
  readonly #stand: RunStand
  readonly #path: PathDraft
  readonly #events: DurableEvent[] = []
  readonly #calls: ToolCallRecord[] = []
  readonly #taken: string[] = []
  readonly #patched: InboxRecord[] = []
  readonly #callSteps: Map<string, number>
  readonly #openSteps: Map<string, number>
  #usage: Usage
  #turnState: TurnState | undefined
  #runPatch: RunPatch = {}
  #sessionPatch: SessionPatch = {}

  constructor(stand: RunStand, path: PathDraft) {
    this.#stand = stand
    this.#path = path
    this.#callSteps = new Map(stand.callSteps)
    this.#openSteps = new Map(stand.callSteps)
    this.#usage = stand.usage
    this.#turnState = stand.turnState
  }

  take(record: JournalRecord): void {
    switch (record.type) {
      case 'event':
        return this.#takeEvent(record.event)
      case 'append': {
        const { message } = record
        this.#path.append(message, message.role === 'tool-result' ? this.#callKey(message.toolCallId) : undefined)
        if (message.role === 'tool-result') this.#openSteps.delete(message.toolCallId)
        return
      }
      case 'discard':
        return this.#path.withdraw(record.messageIds)
      case 'compaction':
        return this.#path.compact(record.compaction, this.#events.at(-1)?.at ?? 0)
      case 'call':
        return this.#takeCall(record.call)
      case 'overlay':
        this.#turnState = { ...this.#turnState, overlays: [...(this.#turnState?.overlays ?? []), record.overlay] }
        return
      case 'inputs-taken':
        for (const inputId of record.inputIds) this.#takeInput(inputId)
        return
      case 'run':
        this.#turnState = turnStateOf(record.run, this.#turnState ?? {})
        this.#runPatch = { ...this.#runPatch, ...restPatchOf(record.run) }
        return
      default: {
        const unknown: never = record
        return unknown
      }
    }
  }

  commit(): RunCommit {
    const { runId } = this.#stand
    const { entries, leaf, movesLeaf } = this.#path
    const sessionPatch = { ...this.#sessionPatch, ...(movesLeaf ? { leaf } : {}) }
    const spending = spendingIn(this.#sessionPatch)
    const spent = this.#stand.spent && { usage: {}, ...mergeSessionPatch(this.#stand.spent, spending) }
    const changed = this.#turnState !== this.#stand.turnState || (spent && Object.keys(spending).length > 0)
    const kept = spent ? { ...this.#turnState, spent } : this.#turnState
    const turnState = changed ? { turnState: kept ?? null } : {}
    // Rows and entries before the events that refer to them, the end of the run after the outcomes that it needs.
    const writes: Write[] = []
    if (this.#calls.length > 0) writes.push({ op: 'call.put', calls: this.#calls })
    if (entries.length > 0) writes.push({ op: 'entry.append', entries })
    if (this.#events.length > 0) writes.push({ op: 'event.append', events: this.#events.map(newEvent) })
    if (this.#taken.length > 0) writes.push({ op: 'inbox.take', ids: this.#taken })
    if (this.#patched.length > 0) writes.push({ op: 'inbox.patch', rows: this.#patched })
    if (Object.keys(sessionPatch).length > 0) writes.push({ op: 'session.patch', patch: sessionPatch })
    writes.push({ op: 'run.patch', runId, patch: { ...this.#runPatch, ...turnState, usage: this.#usage } })
    const after = { ...this.#stand, leaf, usage: this.#usage, turnState: changed ? kept : this.#turnState, spent, callSteps: this.#openSteps }
    return { writes, events: this.#events, after }
  }

  #takeEvent(event: DurableEvent): void {
    this.#events.push(event)
    this.#runPatch = { ...this.#runPatch, ...runPatchOf(event) }
    this.#sessionPatch = mergeSessionPatch(this.#sessionPatch, sessionPatchOf(event))
    this.#usage = addUsage(this.#usage, usageOf(event) ?? {})
    const { stepState } = stepStateOf(event)
    if (stepState) this.#turnState = { ...this.#turnState, stepState }
  }

  #takeInput(inputId: string): void {
    const taken = this.#stand.inputs.get(inputId)
    if (!taken) throw new TypeError(`The input ${inputId} was not given.`)
    this.#taken.push(...taken.take)
    this.#patched.push(...taken.patch)
  }

  #takeCall(call: CallRow): void {
    const { answers, decisions, session } = this.#stand
    const { toolCallId, step, approval } = call
    const answer = call.outcome ? answers.get(toolCallId) : undefined
    const decision = approval && (call.outcome || approval.state !== 'requested') ? decisions.get(approval.approvalId) : undefined
    this.#callSteps.set(toolCallId, step)
    this.#openSteps.set(toolCallId, step)
    this.#calls.push(callRecord(call, session, { answer, decision: approval?.state === 'requested' ? undefined : decision }))
    for (const given of [answer, decision]) if (given?.inboxId !== undefined) this.#taken.push(given.inboxId)
  }

  #callKey(toolCallId: string): CallKey {
    const step = this.#callSteps.get(toolCallId)
    if (step === undefined) throw new TypeError(`The call ${toolCallId} has no ledger row.`)
    return { runId: this.#stand.runId, step, toolCallId }
  }
}

/** Something is behind the run for good. That it was taken up, or begins a call anew, is not that. */
const progress: RunPatch = { attempts: 0 }

/** What an event says about its run. */
function runPatchOf(event: DurableEvent): RunPatch {
  switch (event.type) {
    case 'turn-start':
      return event.resumed ? {} : { turn: event.turn, startedAt: event.at, ...progress }
    case 'tool-execution-end':
      return progress
    case 'step-start':
      return { step: event.step }
    case 'message-start':
      return { step: event.step, openMessageId: event.messageId }
    case 'message-end':
      return { openMessageId: null, ...progress }
    case 'message-discarded':
      return { openMessageId: null }
    default:
      return {}
  }
}

function sessionPatchOf(event: DurableEvent): SessionPatch {
  return {
    ...(event.type === 'turn-start' && !event.resumed ? { turns: event.turn } : {}),
    ...spentBySession(event),
  }
}

function mergeSessionPatch(a: SessionPatch, b: SessionPatch): SessionPatch {
  return { ...a, ...b, ...(a.usage && b.usage ? { usage: addUsage(a.usage, b.usage) } : {}), ...costOf(a, b) }
}

function spendingIn({ usage, cost }: SessionPatch): Pick<SessionPatch, 'usage' | 'cost'> {
  return { ...(usage && { usage }), ...(cost && { cost }) }
}

function costOf(a: SessionPatch, b: SessionPatch): Pick<SessionPatch, 'cost'> {
  const cost = a.cost && b.cost?.currency === a.cost.currency ? addCost(a.cost, b.cost) : (a.cost ?? b.cost)
  return cost ? { cost } : {}
}

/** What the children of a run use is booked in their own last commits. */
function spentBySession(event: DurableEvent): Pick<SessionPatch, 'usage' | 'cost'> {
  if (event.type === 'usage' && event.purpose === 'child') return {}
  const usage = usageOf(event)
  const cost = event.type === 'message-end' ? event.message.cost : event.type === 'usage' ? event.cost : undefined
  return { ...(usage && { usage }), ...(cost && { cost }) }
}

function usageOf(event: DurableEvent): Usage | undefined {
  if (event.type === 'message-end') return event.message.usage
  return event.type === 'usage' ? event.usage : undefined
}
