import type { CallRow, DurableEvent, JournalRecord } from '@bowline/agent-loop'
import { addCost, addUsage, type Usage } from '@bowline/llm'
import type { CallKey, RunPatch, SessionPatch, Write } from '../contract/batch.ts'
import type { EntryRecord, InboxRecord, RunSpending, ToolCallRecord, TurnState } from '../contract/records.ts'
import type { ConsumedInput } from './journal-inbox.ts'
import { newEvent } from './new-event.ts'
import { callRecord, type ConsumedAnswer, type ConsumedDecision } from './ledger-rows.ts'
import { PathDraft } from './path-draft.ts'
import { restPatchOf, stepStateOf, turnStateOf } from './turn-state.ts'

/** State of the run before a commit. */
export interface RunStand {
  readonly runId: string
  readonly session: string
  readonly leaf: string | null
  readonly usage: Usage
  /** Undefined if no turn is open. */
  readonly turnState: TurnState | undefined
  /** Undefined if no session above is to be notified. */
  readonly spent: RunSpending | undefined
  /** Steps of the calls whose results are not in the transcript yet. Their entries refer to the ledger rows. */
  readonly callSteps: ReadonlyMap<string, number>
  /** Answers from outside, by tool call id. A commit that settles the call takes the answer out of the inbox. */
  readonly answers: ReadonlyMap<string, ConsumedAnswer>
  /** Decisions from outside, by approval id. A commit that decides the call takes the decision out of the inbox. */
  readonly decisions: ReadonlyMap<string, ConsumedDecision>
  /** Changes of the inbox rows of an input that is taken. */
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
  /** State of the run after the commit. */
  readonly after: RunStand
}

/** Turns the records of one boundary into the writes of one batch. */
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
    // Rows and entries precede the events that refer to them. The end of the run follows the outcomes that it needs.
    const writes: Write[] = []
    if (this.#calls.length > 0) writes.push({ op: 'call.put', calls: this.#calls })
    if (entries.length > 0) writes.push({ op: 'entry.append', entries })
    if (this.#events.length > 0) writes.push({ op: 'event.append', events: this.#events.map(newEvent) })
    if (this.#taken.length > 0) writes.push({ op: 'inbox.take', ids: this.#taken })
    if (this.#patched.length > 0) writes.push({ op: 'inbox.patch', rows: this.#patched })
    if (Object.keys(sessionPatch).length > 0) writes.push({ op: 'session.patch', patch: sessionPatch })
    writes.push({ op: 'run.patch', runId, patch: { ...this.#runPatch, ...turnState, usage: this.#usage } })
    const after = {
      ...this.#stand,
      leaf,
      usage: this.#usage,
      turnState: changed ? kept : this.#turnState,
      spent,
      callSteps: this.#openSteps,
    }
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

/** Patch for lasting progress of the run. Resuming it or restarting a call is no progress. */
const progress: RunPatch = { attempts: 0 }

/** Returns the changes of the run that an event implies. */
function runPatchOf(event: DurableEvent): RunPatch {
  switch (event.type) {
    case 'turn-start':
      return event.resumed ? { pendingToolCalls: [], pendingApprovals: [] } : { turn: event.turn, startedAt: event.at, ...progress }
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

/** Returns the spending that an event adds to the session. Children add theirs in their own last commits. */
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
