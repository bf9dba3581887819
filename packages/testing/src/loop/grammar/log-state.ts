import type { Cost, Usage } from '@bowline/llm'
import type { AgentEvent, DeltaEvent, DurableEvent, Window } from '@bowline/agent-loop'

/**
 * The place of a log: `outside` of a turn (also of a suspended one), after an `input`, in a `turn` between two steps, in a `step`
 * before its answer, in a `message`, at the `calls` of an answer, `compacting`, or `closing` a segment.
 */
export type Place = 'outside' | 'input' | 'turn' | 'step' | 'message' | 'calls' | 'compacting' | 'closing'

export const inTurn: readonly Place[] = ['turn', 'step', 'message', 'calls']

/** The state of a log, as far as the next events depend on it. */
export interface LogState {
  place: Place
  /** The previous durable event, without events that may come anywhere. */
  previous: DurableEvent['type'] | undefined
  /** True while a turn is suspended. */
  waits: boolean
  /** True if the segment goes on after the latest `awaiting-tools`. */
  continues: boolean
  /** Place of a turn that waits for a decision about its definition or its budget. */
  heldAt: Place | undefined
  runId: string | undefined
  /** The run whose end settled the session last. */
  settledBy: string | undefined
  /** Runs that have not begun. */
  readonly queued: Set<string>
  /** 0 if it is not known. */
  turn: number
  step: number
  /** True if the turn has something to answer. */
  hasInput: boolean
  /** The window at which input may come now. */
  window: Window | undefined
  message: OpenMessageState | undefined
  /** True if an attempt was withdrawn: the next one needs an announcement. */
  attemptFailed: boolean
  /** The announced attempt, until its end. */
  retry: number | undefined
  compaction: { readonly id: string; readonly from: Place } | undefined
  /** Calls of the latest answer. */
  calls: Map<string, CallState>
  /** Approvals without a decision: approval id to tool call id at the root. */
  approvals: Map<string, string>
  /** Approvals of background runs without a decision. */
  readonly asked: Set<string>
  /** Ids of messages of the turn that are not withdrawn. */
  messages: Set<string>
  /** Ids that must not come again. */
  readonly usedIds: Set<string>
  /** All children in the log, by child run id. */
  readonly children: Map<string, ChildState>
  /** Cost of ended children that is not booked yet. */
  readonly owed: { readonly toolCallId: string; readonly usage: Usage }[]
  /** True if the log is read from its middle on. */
  isPartial: boolean
  spent: { readonly usage: Usage; readonly cost?: Cost | undefined } | undefined
}

interface OpenMessageState {
  readonly id: string
  readonly blocks: BlockGrammar
  /** True if its process died. */
  lost: boolean
}

export interface CallState {
  readonly index: number
  attempts: number
  running: boolean
  ended: boolean
  /** True if it ended before it could book the cost of its children. */
  cutOff: boolean
  approval: 'requested' | 'approve' | 'deny' | 'cancelled' | undefined
}

export interface ChildState {
  readonly subagent: string
  readonly toolCallId: string
  /** Step of its last update. */
  step: number
  /** True if it works in the background: the turn does not book its cost. */
  readonly isTask: boolean
  ended: boolean
}

export function startOfLog(): LogState {
  return {
    place: 'outside',
    previous: undefined,
    waits: false,
    continues: false,
    runId: undefined,
    settledBy: undefined,
    queued: new Set(),
    turn: 0,
    step: 0,
    hasInput: false,
    window: undefined,
    heldAt: undefined,
    message: undefined,
    attemptFailed: false,
    retry: undefined,
    compaction: undefined,
    children: new Map(),
    owed: [],
    isPartial: false,
    calls: new Map(),
    approvals: new Map(),
    asked: new Set(),
    messages: new Set(),
    usedIds: new Set(),
    spent: { usage: {} },
  }
}

export function notAllowedHere({ place, previous }: LogState): string {
  return `is not allowed here: the log is in state "${place}" and the event before is ${previous ?? 'none'}`
}

export function wrongTurn(log: LogState, { runId, turn }: { readonly runId: string; readonly turn: number }): string {
  return `names turn ${turn} of the run ${runId}, expected turn ${log.turn} of the run ${log.runId ?? 'none'}`
}

/** Returns why a call of the latest answer is not open. */
export function notOpenCall({ calls }: LogState, toolCallId: string): string {
  return calls.has(toolCallId) ? `the call ${toolCallId} has already ended` : `the latest answer has no call ${toolCallId}`
}

export function notOpenApproval(approvalId: string): string {
  return `the approval ${approvalId} is not open: it was not requested or is already resolved`
}

/** Returns the problem of approvals without a decision. */
export function openApprovals({ approvals }: LogState): string {
  return `the approval ${[...approvals.keys()].join(', ')} is still open`
}

export function noRetryEnd({ retry }: LogState): string {
  return `the retry with attempt ${retry} has no retry-end`
}

export function move(log: LogState, change: Partial<LogState>): void {
  Object.assign(log, change)
}

export type Must = (holds: boolean, problem: string) => void

/** The places at which an event may come, and further conditions; `take` moves the log on. */
export interface Rule<Event> {
  readonly at: readonly Place[]
  readonly take: (log: LogState, event: Event, must: Must, options: GrammarOptions) => void
}

export interface GrammarOptions {
  /** True: no delta is missing. */
  readonly allDeltas: boolean
}

/** One rule per event type: an event type without a rule does not compile. */
export type Rules<Type extends AgentEvent['type']> = { readonly [Each in Type]: Rule<Extract<AgentEvent, { type: Each }>> }

type BlockEvent = Exclude<DeltaEvent, { type: 'tool-execution-delta' }>

/** Checks the deltas of one message: per block a start, its deltas and one end, told apart by index. */
export class BlockGrammar {
  readonly #open = new Map<number, string>()
  #count = 0

  /** Returns what is wrong with the event as the next one. */
  check(event: BlockEvent): string | undefined {
    if (event.type === 'content-part') return this.#checkPart(event.index)
    // A reader that missed the rest of a block may have missed its start, too.
    if ('catchUp' in event) return undefined
    if (event.type === 'output-delta') return this.#open.has(event.index) ? undefined : `no content block ${event.index} is open`
    const place = event.type.lastIndexOf('-')
    const [kind, stage] = [event.type.slice(0, place), event.type.slice(place + 1)]
    if (stage === 'start') return this.#checkStart(event.index, kind)
    if (this.#open.get(event.index) !== kind) return `no ${kind} block ${event.index} is open`
    if (stage === 'end') this.#open.delete(event.index)
    return undefined
  }

  /** Indexes of blocks without an end. */
  get unfinished(): readonly number[] {
    return [...this.#open.keys()]
  }

  #checkStart(index: number, kind: string): string | undefined {
    if (index !== this.#count) return `the content block has index ${index}, expected ${this.#count}`
    this.#count++
    this.#open.set(index, kind)
    return undefined
  }

  /** A part may replace an earlier one of its index. */
  #checkPart(index: number): string | undefined {
    if (index > this.#count) return `the content part has index ${index}, expected at most ${this.#count}`
    if (index === this.#count) this.#count++
    return undefined
  }
}
