import type { ApprovalResolvedEvent, DurableEvent, IdSource, TurnEndEvent } from '@bowline/agent-loop'
import { addUsage, type Cost, type Usage } from '@bowline/llm'
import { newsOfChild } from './child-deliveries.ts'
import { questionsAtRoot } from './questions-at-root.ts'
import { untoldBy, untoldEvents, type SettledRow } from './reminders.ts'
import type { Delivery, NewEntry, Write } from '../contract/batch.ts'
import type { SessionStore } from '../contract/session-store.ts'
import { isTerminal } from '../contract/run-status.ts'
import type { RunFailure, RunRecord, StopRequest, TerminalStatus, ToolCallRecord } from '../contract/records.ts'
import { lastEventsOfCompaction, openCompaction } from './close-compaction.ts'
import { withoutDeadline } from './deadline.ts'
import { newEvent } from './new-event.ts'
import { readTranscript } from './read-transcript.ts'
import { settleOpenCalls, type SettledCall } from './settle-open-calls.ts'

const charactersPerToken = 4
/** Little is written after the end of a turn while its run is not at rest. */
const eventsAfterEnd = 100
const nothingOpen = { openMessageId: null, pendingToolCalls: [], pendingApprovals: [], turnState: null, rest: null, notBefore: null } as const

export interface LostRunEnd {
  readonly status: TerminalStatus
  readonly reason: NonNullable<RunRecord['reason']>
  readonly error?: NonNullable<RunRecord['error']>
  /** Of a run that is ended before anybody could carry the request out. */
  readonly stop?: StopRequest
}

/** A run as it stands, and how it is to end. */
export interface LostRun {
  readonly run: RunRecord
  readonly leaf: string | null
  readonly calls: readonly SettledCall[]
  /** What the answer cost that the model had begun. */
  readonly discarded: Usage | undefined
  /** The id of the compaction that the run had begun. */
  readonly compacting: string | undefined
  /** Inbox rows that nobody will take any more. */
  readonly answers: readonly string[]
  /** Word of background tasks of which a notification run was to tell its model. */
  readonly untold: readonly SettledRow[]
  readonly end: LostRunEnd
  /** What the log holds already: the end of the turn, or also that the session settled after it. */
  readonly told: 'nothing' | 'end' | 'settled'
  readonly at: number
}

/** Looks at what is open of a run that the loop cannot end. */
export async function lookAtLostRun(
  { store, ids }: { readonly store: SessionStore; readonly ids: IdSource },
  run: RunRecord,
  { leaf, answers, end, at }: Pick<LostRun, 'leaf' | 'answers' | 'end' | 'at'>,
): Promise<LostRun> {
  const [calls, compacting, untold, told] = await Promise.all([settleOpenCalls(store, ids, run, at), openCompaction(store, run), untoldBy(store, run), toldOf(store, run)])
  const discarded = run.openMessageId === undefined ? undefined : await estimatedInput(store, run.session)
  return { run, leaf, calls, discarded, compacting, answers, untold, end: endOfTurn(run) ?? end, told, at }
}

/** A turn that has ended keeps its end, whatever its owner has still to do. */
function endOfTurn({ rest }: RunRecord): LostRunEnd | undefined {
  if (!rest || !isTerminal(rest.status)) return undefined
  const { status, reason = 'stop', error } = rest
  return { status: status as TerminalStatus, reason, ...(error && { error }) }
}

/** Reads whether the log holds the end of the run. An input that is queued after `settled` undoes it. */
export async function toldOf(store: SessionStore, run: RunRecord): Promise<LostRun['told']> {
  if (!endOfTurn(run)) return 'nothing'
  const { lastSeq } = await store.readEvents(run.session, run.firstSeq, 1)
  const { events } = await store.readEvents(run.session, Math.max(run.firstSeq, lastSeq - eventsAfterEnd), eventsAfterEnd)
  const last = events.findLast((event) => event.type === 'run-queued' || (event.type === 'settled' && event.runId === run.id))
  return last?.type === 'settled' ? 'settled' : 'end'
}

/** What sessions above are told of the end. */
export async function newsOfLostRun(store: SessionStore, lost: LostRun, batchId: string): Promise<readonly Delivery[]> {
  const { run, end, discarded = {}, at } = lost
  const { usage = {}, ...spent } = run.turnState?.spent ?? {}
  const news = newsOfChild(run, { status: end.status, spent: { ...spent, usage: addUsage(usage, discarded) }, usage: addUsage(run.usage, discarded), cost: costOf(lost), ...(end.error && { error: end.error }), at, batchId })
  return [...news, ...(await questionsAtRoot(store, run, { events: [], ends: true, at, batchId: `${batchId}:${run.id}` }))]
}

/** Returns one more segment, in which all that is open is closed. A run that never began has its end alone. `isLast`: no other run stays open. */
export function lastEvents(lost: LostRun, isLast: boolean): DurableEvent[] {
  const { run, calls, end, at, discarded, untold, told, compacting: open } = lost
  const settled = isLast && told !== 'settled'
  if (run.kind === 'compaction') return lastEventsOfCompaction(run, end, { at, open, settled })
  const { step, openMessageId: messageId, turn = 0 } = run
  const usage = addUsage(run.usage, discarded ?? {})
  const cost = costOf(lost)
  const base = { at, runId: run.id, turn }
  const turnEnd: TurnEndEvent = { ...base, type: 'turn-end', status: end.status, usage, ...(cost && { cost }), steps: step, overlaysExpired: 0, ...wordsOfTheLoop(end) }
  const errors = untoldEvents(untold, base)
  const ends: readonly DurableEvent[] = settled ? [{ ...base, type: 'settled' }] : []
  if (run.turn === undefined) return [...errors, turnEnd, ...ends]
  if (told !== 'nothing') return [...ends]
  const { stepState, retry, attempt = 1 } = run.turnState ?? {}
  const isStepOpen = stepState === 'begun' || stepState === 'answered'
  return [
    { ...base, type: 'turn-start', resumed: true, attempt: run.attempts + 1, cause: 'recovery' },
    ...(messageId === undefined ? [] : [{ ...base, type: 'message-discarded', step, messageId, reason: 'crash' } as const]),
    ...(discarded ? [{ ...base, type: 'usage', purpose: 'discarded-attempt', usage: discarded, estimated: true } as const] : []),
    ...calls.filter((call) => call.fresh).flatMap(({ record, outcome, started }): DurableEvent | readonly DurableEvent[] => {
      const { toolCallId } = outcome
      if (record.about !== undefined) return withdrawn(record, { ...base, step })
      const executed = started ? 'here' : 'no'
      return { ...base, type: 'tool-execution-end', step, toolCallId, executed, message: outcome, durationMs: 0 }
    }),
    ...(retry?.open ? [{ ...base, type: 'retry-end', step, attempt, success: false } as const] : []),
    ...(isStepOpen ? [{ ...base, type: 'step-end', step, toolCalls: calls.filter(isCall).length, continues: false } as const] : []),
    ...errors,
    turnEnd,
    { ...base, type: 'save-point' },
    ...ends,
  ]
}

/** Not a question about the budget, of which log and transcript have no call. */
function isCall({ record }: SettledCall): boolean {
  return record.about === undefined
}

/** What the log is told of a question that nobody decides any more; its ledger row keeps the decision that was taken before. */
function withdrawn({ toolCallId, approval }: ToolCallRecord, base: Pick<ApprovalResolvedEvent, 'at' | 'runId' | 'turn' | 'step'>): readonly DurableEvent[] {
  return approval?.state === 'requested' ? [{ ...base, type: 'approval-resolved', toolCallId, approvalId: approval.approvalId, decision: 'cancelled' }] : []
}

/** Undefined with a discarded answer: it has no price. A turn that has ended has its cost in the run. */
function costOf({ run, discarded, told }: LostRun): Cost | undefined {
  if (told !== 'nothing') return run.cost
  return discarded ? undefined : run.turnState?.cost
}

/** The loop has no words for a run that is lost again and again: its event says what the loop could say. */
function wordsOfTheLoop({ reason, error }: LostRunEnd): Pick<TurnEndEvent, 'reason' | 'error'> {
  return {
    reason: reason === 'crash-loop' ? 'journal-error' : reason,
    ...(error && { error: isRunFailure(error) ? { code: 'journal-failed', message: error.message } : error }),
  }
}

function isRunFailure(error: NonNullable<LostRunEnd['error']>): error is RunFailure {
  return error.code === 'crash-loop' || error.code === 'store-unavailable'
}

export function lastWrites(lost: LostRun, events: readonly DurableEvent[]): readonly Write[] {
  const { run, leaf, calls, answers, untold, end, discarded = {} } = lost
  const fresh = calls.filter((call) => call.fresh).map(({ record }) => record)
  const entries = entriesOf(calls.filter((call) => isCall(call) && !call.inTranscript), leaf, run.id)
  const { status, reason, error = null, stop } = end
  const usage = addUsage(run.usage, discarded)
  const taken = [...answers, ...untold.map(({ id }) => id)]
  return [
    ...(fresh.length > 0 ? [{ op: 'call.put', calls: fresh } as const] : []),
    ...(entries.length > 0 ? [{ op: 'entry.append', entries } as const] : []),
    ...(events.length > 0 ? [{ op: 'event.append', events: events.map(newEvent) } as const] : []),
    ...(taken.length > 0 ? [{ op: 'inbox.take', ids: taken } as const] : []),
    ...withoutDeadline(run),
    { op: 'session.patch', patch: { usage: discarded } },
    { op: 'run.patch', runId: run.id, patch: { status, reason, error, usage, cost: costOf(lost) ?? null, ...nothingOpen, ...(stop && { stop }) } },
  ]
}

/** Nobody knows what the provider counted. */
async function estimatedInput(store: SessionStore, key: string): Promise<Usage> {
  const { messages } = await readTranscript(store, key)
  const inputTokens = Math.ceil(JSON.stringify(messages).length / charactersPerToken)
  return { inputTokens, totalTokens: inputTokens, estimated: true }
}

function entriesOf(settled: readonly SettledCall[], leaf: string | null, runId: string): NewEntry[] {
  let parentId = leaf
  return settled.map(({ record: { step, toolCallId }, outcome: { id, at } }) => {
    const entry: NewEntry = { id, parentId, type: 'message', at, runId, call: { runId, step, toolCallId } }
    parentId = id
    return entry
  })
}

