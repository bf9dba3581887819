import type { JSONValue, Message, Usage } from '@bowline/llm'
import { AgentError } from '../base/agent-error.ts'
import { checkKeys, checkObject, checkRequired } from '../base/checks.ts'
import { copyJson, isRecord } from '../base/json.ts'
import type {
  CallRow,
  CommitOutcome,
  EndedTurn,
  Journal,
  JournalRecord,
  JournalState,
  OpenTurn,
  Overlay,
  RunRow,
  StoredMessage,
} from '../contract/journal.ts'
import type { DurableEvent } from '../events/agent-event.ts'
import type { Compaction } from '../events/message-events.ts'
import { sumCost, sumUsage } from '../events/spending.ts'
import type { TurnError } from '../events/turn-events.ts'
import { earlierMessages } from '../transcript/earlier-messages.ts'

/** A journal in the memory of this process. It is lost with the process unless its `snapshot` is stored. */
export interface MemoryJournal extends Journal {
  /** Returns the whole journal as JSON. `createMemoryJournal({ snapshot })` continues from it, also in another process. */
  snapshot(): JSONValue
}

/** The beginning of a journal: a transcript or a snapshot. Default: an empty conversation. */
export interface MemoryJournalOptions {
  /** An earlier transcript. Throws `invalid-transcript` if it breaks an invariant. */
  readonly messages?: readonly Message[]
  /** Result of another journal's `snapshot()`, to continue from it. */
  readonly snapshot?: JSONValue
}

/** An open turn, changed in place, so that a record costs no copy of it. */
type OpenState = { -readonly [Key in Exclude<keyof OpenTurn, keyof OpenFacts>]?: OpenTurn[Key] | undefined } & OpenFacts

interface OpenFacts {
  runId: string
  turn: number
  step: number
  calls: CallRow[]
  usage: Usage
}

interface Memory {
  messages: StoredMessage[]
  compaction: Compaction | undefined
  seq: number
  turns: number
  open: OpenState | undefined
  /** Number of segments of the open turn. */
  segments: number
  ended: EndedTurn | undefined
  /** Calls of ended steps that were answered from outside, without the outcome. */
  answered: CallRow[]
  /** Conversations of subagents, by key. */
  children: Record<string, Memory>
}

/**
 * Creates a journal in the memory of this process, empty or from a transcript or a snapshot. Throws `AgentError`
 * `invalid-transcript` for messages that break an invariant and `invalid-config` for a value that is not such a snapshot.
 */
export function createMemoryJournal(options: MemoryJournalOptions = {}): MemoryJournal {
  checkKeys('createMemoryJournal.options', options, ['messages', 'snapshot'])
  if (options.snapshot !== undefined) checkObject('snapshot', options.snapshot)
  return journalOver(
    options.snapshot === undefined ? fresh(options.messages === undefined ? [] : options.messages) : restored(options.snapshot),
  )
}

function journalOver(memory: Memory): MemoryJournal {
  const children = new Map<string, Journal>()
  return {
    load: () => Promise.resolve(stateOf(memory)),
    async commit(records: readonly JournalRecord[]): Promise<CommitOutcome> {
      checkRequired('records', records, 'a list of records', (given) => Array.isArray(given) && given.every(isRecord))
      const firstSeq = memory.seq + 1
      for (const record of records) apply(memory, record)
      return { ok: true, firstSeq }
    },
    child(key) {
      const known = children.get(key)
      if (known) return known
      const child = journalOver((memory.children[key] ??= fresh([])))
      children.set(key, child)
      return child
    },
    findAnswered: (id) => Promise.resolve(memory.answered.findLast((row) => row.toolCallId === id || row.approval?.approvalId === id)),
    snapshot: () => copyJson(memory),
  }
}

function fresh(messages: readonly Message[]): Memory {
  return {
    messages: [...earlierMessages(messages)],
    compaction: undefined,
    seq: 0,
    turns: 0,
    open: undefined,
    segments: 0,
    ended: undefined,
    answered: [],
    children: {},
  }
}

function restored(snapshot: JSONValue): Memory {
  const copy = copyJson(snapshot) as unknown as Partial<Memory>
  const { messages, seq, turns, open, segments, compaction, ended, answered, children } = copy
  if (
    !Array.isArray(messages) ||
    typeof seq !== 'number' ||
    typeof turns !== 'number' ||
    typeof segments !== 'number' ||
    !Array.isArray(answered) ||
    !isRecord(children)
  ) {
    throw new AgentError('invalid-config', 'snapshot is not from the snapshot() of a memory journal; give one unchanged')
  }
  return { messages, compaction, seq, turns, open, segments, ended, answered, children }
}

function stateOf(memory: Memory): JournalState {
  const { seq, turns, open, segments, compaction, ended } = memory
  const state = { messages: [...memory.messages], seq, turns, ...(compaction && { compaction }), ...(ended && { ended }) }
  if (!open) return state
  const known = Object.fromEntries(Object.entries(open).filter(([, value]) => value !== undefined)) as unknown as OpenTurn
  return { ...state, open: { ...known, calls: [...open.calls], resume: { cause: 'recovery', attempt: segments + 1 } } }
}

function apply(memory: Memory, record: JournalRecord): void {
  const { open } = memory
  switch (record.type) {
    case 'event':
      memory.seq++
      return applyEvent(memory, record.event)
    case 'append':
      memory.messages.push(record.message)
      return
    case 'discard':
      memory.messages = memory.messages.filter(({ id }) => !record.messageIds.includes(id))
      return
    case 'compaction':
      memory.compaction = record.compaction
      return
    case 'call':
      if (open) placeRow(open.calls, record.call)
      return
    case 'overlay':
      if (open) open.overlays = withOverlay(open.overlays ?? [], record.overlay)
      return
    case 'run':
      if (record.run.state === 'ended') memory.ended = endedBy(record.run, memory.ended)
      if (record.run.state === 'ended') memory.open = undefined
      else takeRun((memory.open ??= opened(record.run)), record.run)
      return
    case 'inputs-taken':
      return
    default: {
      const unknown: never = record
      return unknown
    }
  }
}

function endedBy(run: RunRow, before: EndedTurn | undefined): EndedTurn {
  const { status = 'completed', step: steps, error } = run
  const usage = sumUsage(before?.usage ?? {}, run.usage)
  const cost = sumCost({ usage: before?.usage ?? {}, cost: before?.cost }, { usage: run.usage, cost: run.cost })
  return { status, steps, usage, ...(cost && { cost }), ...(error !== undefined && { error: error as unknown as TurnError }) }
}

function opened({ runId, turn }: { readonly runId: string; readonly turn: number }): OpenState {
  return { runId, turn, step: 0, calls: [], usage: {} }
}

/** Copies the facts about the open turn that the row of the run has and the events do not. */
function takeRun(open: OpenState, run: RunRow): void {
  open.runId = run.runId
  open.turn = run.turn
  open.step = run.step
  open.usage = run.usage
  open.cost = run.cost
  open.attempt = run.attempt
  open.notBefore = run.notBefore
  open.retry = run.retry
  open.activeTools = run.activeTools
  open.inputMessageId = run.inputMessageId
  open.ending = run.ending
  open.elapsedMs = run.elapsedMs
  open.waitedMs = run.waitedMs
  open.overflowUsed = run.overflowUsed
  open.granted = run.granted
  open.extensionState = run.extensionState
}

function applyEvent(memory: Memory, event: DurableEvent): void {
  if (event.type === 'turn-start') {
    memory.turns = event.turn
    memory.segments = event.resumed ? memory.segments + 1 : 1
    memory.open ??= opened(event)
  }
  const { open } = memory
  if (!open) return
  switch (event.type) {
    case 'step-start':
      open.step = event.step
      open.stepState = 'begun'
      open.calls = []
      return
    case 'message-start':
      open.openMessageId = event.messageId
      return
    case 'message-end':
      open.openMessageId = undefined
      open.stepState = 'answered'
      return
    case 'message-discarded':
      if (event.messageId === open.openMessageId) open.openMessageId = undefined
      return
    case 'step-end':
      for (const row of open.calls) if (isAnswered(row)) memory.answered.push(withoutOutcome(row))
      open.stepState = 'ended'
      open.calls = []
      return
    default:
      return
  }
}

/** Adds an overlay. An overlay that was moved keeps its position in the list. */
function withOverlay(overlays: readonly Overlay[], overlay: Overlay): readonly Overlay[] {
  if (overlays.every(({ inputId }) => inputId !== overlay.inputId)) return [...overlays, overlay]
  return overlays.map((other) => (other.inputId === overlay.inputId ? overlay : other))
}

/** Replaces an earlier row of the call, or inserts the row in the order of the calls. */
function placeRow(rows: CallRow[], row: CallRow): void {
  const place = rows.findIndex(({ toolCallId }) => toolCallId === row.toolCallId)
  if (place >= 0) rows[place] = row
  else rows.splice(rows.findLastIndex(({ index }) => index < row.index) + 1, 0, row)
}

/** Returns whether a call was answered from outside. */
function isAnswered({ answerHash, approval }: CallRow): boolean {
  return answerHash !== undefined || approval !== undefined
}

function withoutOutcome({ outcome: _outcome, ...row }: CallRow): CallRow {
  return row
}
