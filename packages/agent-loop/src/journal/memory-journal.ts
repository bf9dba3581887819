import { addUsage } from '@bowline/llm'
import type { JSONValue, Message } from '@bowline/llm'
import { AgentError } from '../agent-error.ts'
import type { Compaction, DurableEvent, TurnError } from '../events/types.ts'
import { copyJson, isRecord } from '../json.ts'
import { sumCost } from '../events/sum-cost.ts'
import { earlierMessages } from '../transcript/earlier-messages.ts'
import type { CallRow, CommitOutcome, EndedTurn, Journal, JournalRecord, JournalState, OpenTurn, Overlay, RunRow, StoredMessage } from './journal.ts'

export interface MemoryJournal extends Journal {
  /** All of it as JSON: `createMemoryJournal({ snapshot })` goes on from there, also in another process. */
  snapshot(): JSONValue
}

export interface MemoryJournalOptions {
  /** An earlier transcript. Throws `invalid-transcript` when it breaks an invariant. */
  readonly messages?: readonly Message[]
  readonly snapshot?: JSONValue
}

interface Memory {
  messages: StoredMessage[]
  compaction: Compaction | undefined
  seq: number
  turns: number
  open: OpenTurn | undefined
  /** Segments of the open turn. */
  segments: number
  ended: EndedTurn | undefined
  /** Of calls of steps that have ended: those that were answered from outside, without the outcome. */
  answered: CallRow[]
  /** Conversations of subagents, by key. */
  children: Record<string, Memory>
}

/** The journal of a conversation that lives in this process: the reference for all others. */
export function createMemoryJournal(options: MemoryJournalOptions = {}): MemoryJournal {
  return journalOver(options.snapshot === undefined ? fresh(options.messages ?? []) : restored(options.snapshot))
}

function journalOver(memory: Memory): MemoryJournal {
  const children = new Map<string, Journal>()
  return {
    load: () => Promise.resolve(stateOf(memory)),
    commit(records: readonly JournalRecord[]): Promise<CommitOutcome> {
      const firstSeq = memory.seq + 1
      for (const record of records) apply(memory, record)
      return Promise.resolve({ ok: true, firstSeq })
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
  return { messages: [...earlierMessages(messages)], compaction: undefined, seq: 0, turns: 0, open: undefined, segments: 0, ended: undefined, answered: [], children: {} }
}

function restored(snapshot: JSONValue): Memory {
  const copy = copyJson(snapshot) as unknown as Partial<Memory>
  const { messages, seq, turns, open, segments, compaction, ended, answered, children } = copy
  if (!Array.isArray(messages) || typeof seq !== 'number' || typeof turns !== 'number' || typeof segments !== 'number' || !Array.isArray(answered) || !isRecord(children)) {
    throw new AgentError('invalid-config', 'snapshot is not one of a memory journal')
  }
  return { messages, compaction, seq, turns, open, segments, ended, answered, children }
}

function stateOf(memory: Memory): JournalState {
  const { seq, turns, open, segments, compaction, ended } = memory
  const state = { messages: [...memory.messages], seq, turns, ...(compaction && { compaction }), ...(ended && { ended }) }
  if (!open) return state
  return { ...state, open: { ...open, resume: { cause: 'recovery', attempt: segments + 1 } } }
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
      if (open) memory.open = { ...open, calls: withRow(open.calls, record.call) }
      return
    case 'overlay':
      if (open) memory.open = { ...open, overlays: withOverlay(open.overlays ?? [], record.overlay) }
      return
    case 'run':
      if (record.run.state === 'ended') memory.ended = endedBy(record.run, memory.ended)
      memory.open = record.run.state === 'ended' ? undefined : openAfter(open, record.run)
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
  const usage = addUsage(before?.usage ?? {}, run.usage)
  const cost = sumCost({ usage: before?.usage ?? {}, cost: before?.cost }, { usage: run.usage, cost: run.cost })
  return { status, steps, usage, ...(cost && { cost }), ...(error !== undefined && { error: error as unknown as TurnError }) }
}

/** What a row of the run says of the open turn, beside what the events say. */
function openAfter(open: OpenTurn | undefined, run: RunRow): OpenTurn {
  const { runId, turn, step, usage, cost, attempt, notBefore, retry, elapsedMs, waitedMs, overflowUsed, extensionState, ending, inputMessageId } = run
  const { calls = [], openMessageId, stepState, overlays } = open ?? {}
  return {
    ...{ runId, turn, step, usage, calls, attempt, elapsedMs },
    ...(openMessageId !== undefined && { openMessageId }),
    ...(stepState && { stepState }),
    ...(overlays && { overlays }),
    ...(cost && { cost }),
    ...(notBefore !== undefined && { notBefore }),
    ...(retry && { retry }),
    ...(inputMessageId !== undefined && { inputMessageId }),
    ...(ending && { ending }),
    ...(waitedMs !== undefined && { waitedMs }),
    ...(overflowUsed && { overflowUsed }),
    ...(extensionState && { extensionState }),
  }
}

function applyEvent(memory: Memory, event: DurableEvent): void {
  if (event.type === 'turn-start') {
    memory.turns = event.turn
    memory.segments = event.resumed ? memory.segments + 1 : 1
    const { runId, turn } = event
    memory.open ??= { runId, turn, step: 0, calls: [], usage: {} }
  }
  if (!memory.open) return
  if (event.type === 'step-start') memory.open = { ...memory.open, step: event.step, stepState: 'begun', calls: [] }
  if (event.type === 'message-start') memory.open = { ...memory.open, openMessageId: event.messageId }
  if (event.type === 'message-end') memory.open = { ...withoutMessage(memory.open), stepState: 'answered' }
  if (event.type === 'message-discarded' && event.messageId === memory.open.openMessageId) memory.open = withoutMessage(memory.open)
  if (event.type === 'step-end') {
    memory.answered.push(...memory.open.calls.flatMap(answeredRow))
    memory.open = { ...memory.open, stepState: 'ended', calls: [] }
  }
}

/** One that was moved stays in its place among the others. */
function withOverlay(overlays: readonly Overlay[], overlay: Overlay): readonly Overlay[] {
  if (overlays.every(({ inputId }) => inputId !== overlay.inputId)) return [...overlays, overlay]
  return overlays.map((other) => (other.inputId === overlay.inputId ? overlay : other))
}

function withoutMessage({ openMessageId: _closed, ...open }: OpenTurn): OpenTurn {
  return open
}

function withRow(rows: readonly CallRow[], row: CallRow): readonly CallRow[] {
  return [...rows.filter((other) => other.toolCallId !== row.toolCallId), row].sort((a, b) => a.index - b.index)
}

function answeredRow({ outcome: _outcome, ...row }: CallRow): readonly CallRow[] {
  return row.answerHash === undefined && !row.approval ? [] : [row]
}
