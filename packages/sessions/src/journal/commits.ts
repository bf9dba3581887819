import type { CallRow, DurableEvent, JournalRecord, StoredMessage } from '@bowline/agent-loop'
import { addUsage, type Usage } from '@bowline/llm'
import type { CallKey, NewEntry, NewEvent, PartialEvent, RunPatch, SessionPatch, Write } from '../store/contract.ts'
import type { RunRecord, ToolCallRecord } from '../store/records.ts'

/** What a commit builds on: where the run stands before it. */
export interface RunStand {
  readonly runId: string
  readonly session: string
  readonly leaf: string | null
  readonly usage: Usage
  /** The step of each call whose result is not in the transcript yet: its entry refers to the ledger row. */
  readonly callSteps: ReadonlyMap<string, number>
  /** Answers given from outside, by tool call id, that a settled call takes out of the inbox. */
  readonly answers: ReadonlyMap<string, TakenAnswer>
}

export interface TakenAnswer {
  readonly inboxId: string
  /** Absent when the answer came too late to count. */
  readonly hash?: string
}

export interface RunCommit {
  readonly writes: readonly Write[]
  readonly events: readonly DurableEvent[]
  /** Where the run stands after it. */
  readonly after: RunStand
}

/** The records of one boundary as the writes of one batch. */
export function runCommit(records: readonly JournalRecord[], stand: RunStand): RunCommit {
  const events: DurableEvent[] = []
  const entries: NewEntry[] = []
  const calls: ToolCallRecord[] = []
  const taken: string[] = []
  const callSteps = new Map(stand.callSteps)
  const openSteps = new Map(callSteps)
  let { leaf, usage } = stand
  let runPatch: RunPatch = {}
  let sessionPatch: SessionPatch = {}

  for (const record of records) {
    switch (record.type) {
      case 'event':
        events.push(record.event)
        runPatch = { ...runPatch, ...runPatchOf(record.event) }
        sessionPatch = mergeSessionPatch(sessionPatch, sessionPatchOf(record.event))
        usage = addUsage(usage, usageOf(record.event) ?? {})
        break
      case 'append':
        entries.push(newEntry(record.message, leaf, stand.runId, callSteps))
        leaf = record.message.id
        if (record.message.role === 'tool-result') openSteps.delete(record.message.toolCallId)
        break
      case 'call': {
        const answer = isSettled(record.call) ? stand.answers.get(record.call.toolCallId) : undefined
        callSteps.set(record.call.toolCallId, record.call.step)
        openSteps.set(record.call.toolCallId, record.call.step)
        calls.push(callRecord(record.call, stand.session, answer))
        if (answer) taken.push(answer.inboxId)
        break
      }
      case 'run':
        runPatch = { ...runPatch, ...restPatchOf(record.run) }
        break
    }
  }

  // Rows and entries before the events that refer to them, the end of the run after the outcomes that it needs.
  const writes: Write[] = []
  if (calls.length > 0) writes.push({ op: 'call.put', calls })
  if (entries.length > 0) writes.push({ op: 'entry.append', entries })
  if (events.length > 0) writes.push({ op: 'event.append', events: events.map(newEvent) })
  if (taken.length > 0) writes.push({ op: 'inbox.take', ids: taken })
  if (sessionPatch.turns !== undefined || sessionPatch.usage) writes.push({ op: 'session.patch', patch: sessionPatch })
  writes.push({ op: 'run.patch', runId: stand.runId, patch: { ...runPatch, usage } })
  return { writes, events, after: { ...stand, leaf, usage, callSteps: openSteps } }
}

function isSettled(call: CallRow): boolean {
  return call.outcome !== undefined
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
  const usage = usageOf(event)
  return {
    ...(event.type === 'turn-start' && !event.resumed ? { turns: event.turn } : {}),
    ...(usage ? { usage } : {}),
  }
}

function mergeSessionPatch(a: SessionPatch, b: SessionPatch): SessionPatch {
  return { ...a, ...b, ...(a.usage && b.usage ? { usage: addUsage(a.usage, b.usage) } : {}) }
}

function usageOf(event: DurableEvent): Usage | undefined {
  if (event.type === 'message-end') return event.message.usage
  return event.type === 'usage' ? event.usage : undefined
}

/** How a run comes to rest: waiting for somebody, or ended. */
function restPatchOf(run: Extract<JournalRecord, { type: 'run' }>['run']): RunPatch {
  if (run.state === 'running' || run.status === undefined) return {}
  return {
    status: run.status,
    reason: (run.reason ?? null) as RunRecord['reason'] | null,
    pendingToolCalls: run.pendingToolCalls ?? [],
    error: (run.error ?? null) as RunRecord['error'] | null,
  }
}

function newEntry(
  message: StoredMessage,
  parentId: string | null,
  runId: string,
  callSteps: ReadonlyMap<string, number>,
): NewEntry {
  const entry = { id: message.id, parentId, type: 'message', at: message.at ?? 0, runId } as const
  if (message.role !== 'tool-result') return { ...entry, message }
  return { ...entry, call: callKey(runId, message.toolCallId, callSteps) }
}

export function newEvent(event: DurableEvent): NewEvent {
  switch (event.type) {
    case 'user-message':
    case 'message-end': {
      const { message: _, ...rest } = event
      return { event: rest, refers: { entryId: event.messageId } }
    }
    case 'tool-execution-end': {
      const { message: _, ...rest } = event
      const { runId, step, toolCallId } = event
      return { event: rest, refers: { call: { runId, step, toolCallId } } }
    }
    default:
      return { event: event as unknown as PartialEvent }
  }
}

function callKey(runId: string, toolCallId: string, callSteps: ReadonlyMap<string, number>): CallKey {
  const step = callSteps.get(toolCallId)
  if (step === undefined) throw new TypeError(`The call ${toolCallId} has no ledger row.`)
  return { runId, step, toolCallId }
}

function callRecord(call: CallRow, session: string, answer?: TakenAnswer): ToolCallRecord {
  const { state, toolName, outcome, ...rest } = call
  return {
    ...rest,
    session,
    name: toolName,
    state: state === 'pending' || state === 'started' || state === 'remote' ? state : 'settled',
    ...(outcome ? { status: outcome.status, outcome } : {}),
    ...(answer?.hash === undefined ? {} : { answerHash: answer.hash }),
  }
}

export function callRow(record: ToolCallRecord): CallRow {
  const { session: _session, name, state, status, answerHash: _answer, ...rest } = record
  return { ...rest, toolName: name, state: state === 'settled' ? (status ?? 'error') : state }
}
