import type { Cost, Usage } from '@bowline/llm'
import type { AgentEvent, DeltaEvent, DurableEvent } from '../../events/agent-event.ts'
import type { Window } from '../../events/turn-events.ts'

/**
 * Where a log can stand: `outside` of a turn (a suspended one too), behind an `input`, in a `turn` between two steps, in a
 * `step` before its answer, in a `message`, at the `calls` of an answer, `compacting`, or `closing` a segment.
 */
export type Place = 'outside' | 'input' | 'turn' | 'step' | 'message' | 'calls' | 'compacting' | 'closing'

export const inTurn: readonly Place[] = ['turn', 'step', 'message', 'calls']

/** What a log has told so far, as far as the next events depend on it. */
export interface LogState {
  place: Place
  /** The durable event before, those apart that may stand anywhere. */
  previous: DurableEvent['type'] | undefined
  /** The turn that is open outside of its segments. */
  waits: boolean
  /** Where a turn stood that waits for a decision about its definition or its budget. */
  heldAt: Place | undefined
  runId: string | undefined
  /** The run whose end has settled the session last. */
  settledBy: string | undefined
  /** Runs that have not begun. */
  readonly queued: Set<string>
  /** 0 when it is not known. */
  turn: number
  step: number
  /** The turn has something to answer. */
  hasInput: boolean
  /** Input may come in here. */
  window: Window | undefined
  message: OpenMessageState | undefined
  /** An attempt was withdrawn, and none follows without its announcement. */
  attemptFailed: boolean
  /** The attempt that was announced, until its end. */
  retry: number | undefined
  compaction: { readonly id: string; readonly from: Place } | undefined
  /** Of the latest answer. */
  calls: Map<string, CallState>
  /** Without a decision: approval id to tool call id at the root. */
  approvals: Map<string, string>
  /** By runs in the background, without a decision. */
  readonly asked: Set<string>
  /** Ids of messages of the turn that stand. */
  messages: Set<string>
  /** Ids that must not come again. */
  readonly usedIds: Set<string>
  /** By child run id, all that the log tells of. */
  readonly children: Map<string, ChildState>
  /** What children cost that have ended, and is not booked. */
  readonly owed: { readonly toolCallId: string; readonly usage: Usage }[]
  /** The log is read from its middle on. */
  isPartial: boolean
  spent: { readonly usage: Usage; readonly cost?: Cost | undefined } | undefined
}

interface OpenMessageState {
  readonly id: string
  readonly blocks: BlockGrammar
  /** Its process died. */
  lost: boolean
}

export interface CallState {
  readonly index: number
  attempts: number
  running: boolean
  ended: boolean
  /** Before it could book what its children cost. */
  cutOff: boolean
  approval: 'requested' | 'approve' | 'deny' | 'cancelled' | undefined
}

export interface ChildState {
  readonly toolCallId: string
  /** The step of its last update. */
  step: number
  /** It works in the background: the turn does not book what it costs. */
  readonly isTask: boolean
  ended: boolean
}

export function startOfLog(): LogState {
  return {
    ...{ place: 'outside', previous: undefined, waits: false, runId: undefined, settledBy: undefined, queued: new Set(), turn: 0, step: 0, hasInput: false, window: undefined, heldAt: undefined },
    ...{ message: undefined, attemptFailed: false, retry: undefined, compaction: undefined, children: new Map(), owed: [], isPartial: false },
    ...{ calls: new Map(), approvals: new Map(), asked: new Set(), messages: new Set(), usedIds: new Set(), spent: { usage: {} } },
  }
}

export function move(log: LogState, change: Partial<LogState>): void {
  Object.assign(log, change)
}

export type Must = (holds: boolean, problem: string) => void

/** Where an event may stand, and what else must hold there; `take` moves the log on. */
export interface Rule<Event> {
  readonly at: readonly Place[]
  readonly take: (log: LogState, event: Event, must: Must, options: GrammarOptions) => void
}

export interface GrammarOptions {
  /** No delta is missing. */
  readonly allDeltas: boolean
}

/** One rule per event type: a type without its rule does not compile. */
export type Rules<Type extends AgentEvent['type']> = { readonly [Each in Type]: Rule<Extract<AgentEvent, { type: Each }>> }

type BlockEvent = Exclude<DeltaEvent, { type: 'tool-execution-delta' }>

/** The deltas of one message: per block a start, its deltas and one end, told apart by index. */
export class BlockGrammar {
  readonly #open = new Map<number, string>()
  #count = 0

  /** What is wrong with the event as the next one. */
  check(event: BlockEvent): string | undefined {
    if (event.type === 'content-part') return this.#checkPart(event.index)
    if (event.type === 'output-delta') return this.#open.has(event.index) ? undefined : `no block ${event.index} is open`
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
    if (index !== this.#count) return `block ${index} begins where ${this.#count} is next`
    this.#count++
    this.#open.set(index, kind)
    return undefined
  }

  /** A part may replace an earlier one of its index. */
  #checkPart(index: number): string | undefined {
    if (index > this.#count) return `part ${index} stands where ${this.#count} is next`
    if (index === this.#count) this.#count++
    return undefined
  }
}
