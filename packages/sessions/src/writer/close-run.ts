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
/** Number of last events to search. Few are written between the end of a turn and the rest of its run. */
const eventsAfterEnd = 100
const nothingOpen = {
  openMessageId: null,
  pendingToolCalls: [],
  pendingApprovals: [],
  turnState: null,
  rest: null,
  notBefore: null,
} as const

export interface LostRunEnd {
  readonly status: TerminalStatus
  readonly reason: NonNullable<RunRecord['reason']>
  readonly error?: NonNullable<RunRecord['error']>
  /** Stop request of a run that is ended before any process could follow it. */
  readonly stop?: StopRequest
}

/** State of a run, and the end that it is to get. */
export interface LostRun {
  readonly run: RunRecord
  readonly leaf: string | null
  readonly calls: readonly SettledCall[]
  /** Usage of an unfinished answer. */
  readonly discarded: Usage | undefined
  /** Id of the compaction that the run has started. */
  readonly compacting: string | undefined
  /** Inbox rows that no run will take. */
  readonly answers: readonly string[]
  /** Background tasks whose end a notification run has not yet told the model. */
  readonly untold: readonly SettledRow[]
  readonly end: LostRunEnd
  /** Events already in the log: none, the end of the turn, or also the `settled` after it. */
  readonly told: 'nothing' | 'end' | 'settled'
  readonly at: number
}

/** Collects everything open of a run that the loop cannot end. */
export async function lookAtLostRun(
  { store, ids }: { readonly store: SessionStore; readonly ids: IdSource },
  run: RunRecord,
  { leaf, answers, end, at }: Pick<LostRun, 'leaf' | 'answers' | 'end' | 'at'>,
): Promise<LostRun> {
  const [calls, compacting, untold, told] = await Promise.all([
    settleOpenCalls(store, ids, run, at),
    openCompaction(store, run),
    untoldBy(store, run),
    toldOf(store, run),
  ])
  const discarded = run.openMessageId === undefined ? undefined : await estimatedInput(store, run.session)
  return { run, leaf, calls, discarded, compacting, answers, untold, end: endOfTurn(run) ?? end, told, at }
}

/** Returns the end of the turn if it has ended. It remains valid, whatever its owner still had to store. */
function endOfTurn({ rest }: RunRecord): LostRunEnd | undefined {
  if (!rest || !isTerminal(rest.status)) return undefined
  const { status, reason = 'stop', error } = rest
  return { status, reason, ...(error && { error }) }
}

/** Returns which end events the log already holds. An input queued after `settled` revokes it. */
export async function toldOf(store: SessionStore, run: RunRecord): Promise<LostRun['told']> {
  if (!endOfTurn(run)) return 'nothing'
  const { lastSeq } = await store.readEvents(run.session, run.firstSeq, 1)
  const { events } = await store.readEvents(run.session, Math.max(run.firstSeq, lastSeq - eventsAfterEnd), eventsAfterEnd)
  const last = events.findLast((event) => event.type === 'run-queued' || (event.type === 'settled' && event.runId === run.id))
  return last?.type === 'settled' ? 'settled' : 'end'
}

/** Returns the deliveries that notify the sessions above of the end. */
export async function newsOfLostRun(store: SessionStore, lost: LostRun, batchId: string): Promise<readonly Delivery[]> {
  const { run, end, discarded = {}, at } = lost
  const { usage = {}, ...spent } = run.turnState?.spent ?? {}
  const news = newsOfChild(run, {
    status: end.status,
    spent: { ...spent, usage: addUsage(usage, discarded) },
    usage: addUsage(run.usage, discarded),
    cost: costOf(lost),
    ...(end.error && { error: end.error }),
    at,
    batchId,
  })
  return [...news, ...(await questionsAtRoot(store, run, { events: [], ends: true, at, batchId: `${batchId}:${run.id}` }))]
}

/**
 * Returns the events of one more segment, which closes everything open. A run that never started only ends. `isLast`: no other run
 * is open.
 */
export function lastEvents(lost: LostRun, isLast: boolean): DurableEvent[] {
  const { run, calls, end, at, discarded, untold, told, compacting: open } = lost
  const settled = isLast && told !== 'settled'
  if (run.kind === 'compaction') return lastEventsOfCompaction(run, end, { at, open, settled })
  const { step, openMessageId: messageId, turn = 0 } = run
  const usage = addUsage(run.usage, discarded ?? {})
  const cost = costOf(lost)
  const base = { at, runId: run.id, turn }
  const turnEnd: TurnEndEvent = {
    ...base,
    type: 'turn-end',
    status: end.status,
    usage,
    ...(cost && { cost }),
    steps: step,
    overlaysExpired: 0,
    ...wordsOfTheLoop(end),
  }
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
    ...calls
      .filter((call) => call.fresh)
      .flatMap(({ record, outcome, started }): DurableEvent | readonly DurableEvent[] => {
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

/** False for a question about the budget, which has no call in the log and the transcript. */
function isCall({ record }: SettledCall): boolean {
  return record.about === undefined
}

/** Cancels an open question in the log. For a decided one the ledger row keeps the decision. */
function withdrawn(
  { toolCallId, approval }: ToolCallRecord,
  base: Pick<ApprovalResolvedEvent, 'at' | 'runId' | 'turn' | 'step'>,
): readonly DurableEvent[] {
  return approval?.state === 'requested'
    ? [{ ...base, type: 'approval-resolved', toolCallId, approvalId: approval.approvalId, decision: 'cancelled' }]
    : []
}

/**
 * Returns the cost. Undefined if an answer was discarded, since its price is unknown. If the turn has ended, the run has its cost.
 */
function costOf({ run, discarded, told }: LostRun): Cost | undefined {
  if (told !== 'nothing') return run.cost
  return discarded ? undefined : run.turnState?.cost
}

/** Maps the end to a reason and error of the loop's event, which has none for a crash loop. */
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
  const entries = entriesOf(
    calls.filter((call) => isCall(call) && !call.inTranscript),
    leaf,
    run.id,
  )
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
    {
      op: 'run.patch',
      runId: run.id,
      patch: { status, reason, error, usage, cost: costOf(lost) ?? null, ...nothingOpen, ...(stop && { stop }) },
    },
  ]
}

/** Estimates the input tokens, since the provider's count is unknown. */
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
