import type { DurableEvent, IdSource, ToolResult, TurnEndEvent } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import { newEvent } from '../journal/commits.ts'
import type { LiveLog } from '../log/live-log.ts'
import type { Claim, Expect, NewEntry, SessionStore, Write } from '../store/contract.ts'
import type { RunFailure, RunRecord, StoredEvent, ToolCallRecord } from '../store/records.ts'

interface RecoverContext {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
}

export interface LostRunEnd {
  readonly reason: NonNullable<RunRecord['reason']>
  readonly error: NonNullable<RunRecord['error']>
}

/** Back into the queue with the turn left open, for whoever claims it next. */
export async function giveBack({ store, ids }: RecoverContext, { run, session }: Claim): Promise<void> {
  await store.commit({
    id: ids.next('batch'),
    key: session.key,
    expect: fence(run),
    writes: [{ op: 'run.patch', runId: run.id, patch: { status: 'queued', reason: 'yielded' } }],
  })
}

/** Ends a run that the loop cannot end: every open call gets an outcome, so that the session goes on. */
export async function endLostRun(context: RecoverContext, claim: Claim, end: LostRunEnd): Promise<void> {
  const { store, ids, live } = context
  const { key } = claim.session
  const [run, session] = await Promise.all([store.readRun(claim.run.id), store.readSession(key)])
  if (run.status === 'missing' || session.status === 'missing' || run.value.epoch !== claim.run.epoch) return
  const settled = await settleOpenCalls(context, run.value)
  const events = lastEvents(run.value, settled, end, context.clock.now())
  const result = await store.commit({
    id: ids.next('batch'),
    key,
    expect: fence(run.value),
    writes: lastWrites(run.value, session.value.leaf, settled, events, end),
  })
  // Refused: somebody else has the run by now, and ends it.
  if (!result.ok) return
  live.publish(
    key,
    events.map((event, index): StoredEvent => ({ ...event, seq: result.firstSeq + index })),
    true,
  )
}

function isRunFailure(error: LostRunEnd['error']): error is RunFailure {
  return error.code === 'crash-loop' || error.code === 'store-unavailable'
}

interface SettledCall {
  readonly record: ToolCallRecord
  readonly outcome: ToolResult
  /** Settled here, not before. */
  readonly fresh: boolean
  readonly inTranscript: boolean
}

async function settleOpenCalls(context: RecoverContext, run: RunRecord): Promise<readonly SettledCall[]> {
  const { store, ids, clock } = context
  if (run.turn === undefined) return []
  const calls = await store.readCalls(run.id, run.step)
  const path = await store.readPath(run.session, { limit: calls.length + 1 })
  const entries = new Set(path.items.map((entry) => entry.id))
  return calls.map((record) => {
    const { outcome } = record
    if (outcome) return { record, outcome, fresh: false, inTranscript: entries.has(outcome.id) }
    const given = givenUp(record, ids, clock.now())
    const { status } = given
    return { record: { ...record, state: 'settled', status, outcome: given }, outcome: given, fresh: true, inTranscript: false }
  })
}

/** A started call that is not pure may have happened. */
function givenUp(call: ToolCallRecord, ids: IdSource, at: number): ToolResult {
  const unknown = call.state === 'started' && call.effect !== 'pure'
  const value = unknown ? 'may or may not have happened: the run was given up' : 'not run: the run was given up'
  return {
    role: 'tool-result',
    id: ids.next('msg'),
    toolCallId: call.toolCallId,
    toolName: call.name,
    output: { type: 'error-text', value },
    at,
    status: unknown ? 'unknown' : 'cancelled',
    index: call.index,
  }
}

function lastEvents(run: RunRecord, settled: readonly SettledCall[], end: LostRunEnd, at: number): DurableEvent[] {
  const base = { at, runId: run.id, turn: run.turn ?? 0 }
  const { step, usage, openMessageId: messageId } = run
  const events: DurableEvent[] = []
  if (messageId !== undefined) events.push({ ...base, type: 'message-discarded', step, messageId, reason: 'crash' })
  for (const { outcome, fresh } of settled) {
    if (!fresh) continue
    const { toolCallId } = outcome
    events.push({ ...base, type: 'tool-execution-end', step, toolCallId, executed: 'no', message: outcome, durationMs: 0 })
  }
  events.push({ ...base, type: 'turn-end', status: 'error', usage, steps: step, ...wordsOfTheLoop(end) })
  if (run.turn !== undefined) events.push({ ...base, type: 'save-point' })
  return events
}

/** The loop has no words for a run that is lost again and again: its event says what the loop could say. */
function wordsOfTheLoop({ reason, error }: LostRunEnd): Pick<TurnEndEvent, 'reason' | 'error'> {
  return {
    reason: reason === 'crash-loop' ? 'journal-error' : reason,
    error: isRunFailure(error) ? { code: 'journal-failed', message: error.message } : error,
  }
}

function lastWrites(
  run: RunRecord,
  leaf: string | null,
  settled: readonly SettledCall[],
  events: readonly DurableEvent[],
  { reason, error }: LostRunEnd,
): readonly Write[] {
  const calls = settled.filter(({ fresh }) => fresh).map(({ record }) => record)
  const entries = entriesOf(settled.filter(({ inTranscript }) => !inTranscript), leaf, run.id)
  return [
    ...(calls.length > 0 ? [{ op: 'call.put', calls } as const] : []),
    ...(entries.length > 0 ? [{ op: 'entry.append', entries } as const] : []),
    { op: 'event.append', events: events.map(newEvent) },
    {
      op: 'run.patch',
      runId: run.id,
      patch: { status: 'error', reason, error, openMessageId: null, pendingToolCalls: [] },
    },
  ]
}

function entriesOf(settled: readonly SettledCall[], leaf: string | null, runId: string): NewEntry[] {
  let parentId = leaf
  return settled.map(({ record: { step, toolCallId }, outcome: { id, at } }) => {
    const entry: NewEntry = { id, parentId, type: 'message', at, runId, call: { runId, step, toolCallId } }
    parentId = id
    return entry
  })
}

function fence(run: RunRecord): readonly Expect[] {
  return [{ that: 'fence', runId: run.id, epoch: run.epoch }]
}
