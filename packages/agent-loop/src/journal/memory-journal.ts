import type { JSONValue, Message } from '@bowline/llm'
import { AgentError } from '../agent-error.ts'
import type { DurableEvent } from '../events/types.ts'
import { copyJson } from '../json.ts'
import { earlierMessages } from '../transcript/earlier-messages.ts'
import type { CallRow, CommitOutcome, Journal, JournalRecord, JournalState, OpenTurn, StoredMessage } from './journal.ts'

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
  seq: number
  turns: number
  open: OpenTurn | undefined
  /** Segments of the open turn. */
  segments: number
}

/** The journal of a conversation that lives in this process: the reference for all others. */
export function createMemoryJournal(options: MemoryJournalOptions = {}): MemoryJournal {
  const memory = options.snapshot === undefined ? fresh(options.messages ?? []) : restored(options.snapshot)
  return {
    load: () => Promise.resolve(stateOf(memory)),
    commit(records: readonly JournalRecord[]): Promise<CommitOutcome> {
      const firstSeq = memory.seq + 1
      for (const record of records) apply(memory, record)
      return Promise.resolve({ ok: true, firstSeq })
    },
    snapshot: () => copyJson(memory),
  }
}

function fresh(messages: readonly Message[]): Memory {
  return { messages: [...earlierMessages(messages)], seq: 0, turns: 0, open: undefined, segments: 0 }
}

function restored(snapshot: JSONValue): Memory {
  const { messages, seq, turns, open, segments } = copyJson(snapshot) as unknown as Partial<Memory>
  if (!Array.isArray(messages) || typeof seq !== 'number' || typeof turns !== 'number' || typeof segments !== 'number') {
    throw new AgentError('invalid-config', 'snapshot is not one of a memory journal')
  }
  return { messages, seq, turns, open, segments }
}

function stateOf(memory: Memory): JournalState {
  const { seq, turns, open, segments } = memory
  const messages = [...memory.messages]
  if (!open) return { messages, seq, turns }
  return { messages, seq, turns, open: { ...open, resume: { cause: 'recovery', attempt: segments + 1 } } }
}

function apply(memory: Memory, record: JournalRecord): void {
  switch (record.type) {
    case 'event':
      memory.seq++
      return applyEvent(memory, record.event)
    case 'append':
      memory.messages.push(record.message)
      return
    case 'call':
      if (memory.open) memory.open = { ...memory.open, calls: withRow(memory.open.calls, record.call) }
      return
    case 'run': {
      const { runId, turn, step, usage, state } = record.run
      const { calls = [], openMessageId } = memory.open ?? {}
      const open: OpenTurn = { runId, turn, step, usage, calls, ...(openMessageId !== undefined && { openMessageId }) }
      memory.open = state === 'ended' ? undefined : open
      return
    }
    default: {
      const unknown: never = record
      return unknown
    }
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
  if (event.type === 'step-start') memory.open = { ...memory.open, step: event.step, calls: [] }
  if (event.type === 'message-start') memory.open = { ...memory.open, openMessageId: event.messageId }
  if (event.type === 'message-end' || event.type === 'message-discarded') {
    const { openMessageId: _closed, ...open } = memory.open
    memory.open = open
  }
}

function withRow(rows: readonly CallRow[], row: CallRow): readonly CallRow[] {
  return [...rows.filter((other) => other.toolCallId !== row.toolCallId), row].sort((a, b) => a.index - b.index)
}
