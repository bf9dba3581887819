import type { DurableEvent, IdSource, TurnEndEvent } from '@bowline/agent-loop'
import { addUsage, type Clock, type Usage } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { newEvent } from '../journal/commits.ts'
import { readTranscript } from '../journal/read-transcript.ts'
import type { LiveLog } from '../log/live-log.ts'
import { patchOf } from '../journal/turn-state.ts'
import { answerId, decisionId, isAllAnswered, isWaiting, openQuestions, readAnswers } from '../session/views.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { Claim, CommitResult, Expect, NewEntry, SessionStore, Write } from '../store/contract.ts'
import type { InboxRecord, RunFailure, RunRecord, StoredEvent } from '../store/records.ts'
import { settleOpenCalls, type SettledCall } from './settle-open-calls.ts'

const charactersPerToken = 4

interface RecoverContext {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly clock: Clock
  readonly ids: IdSource
}

export interface LostRunEnd {
  readonly status: 'error' | 'aborted'
  readonly reason: NonNullable<RunRecord['reason']>
  readonly error?: NonNullable<RunRecord['error']>
}

const nothingOpen = { openMessageId: null, pendingToolCalls: [], pendingApprovals: [], turnState: null } as const
const stoppedBefore: LostRunEnd = { status: 'aborted', reason: 'abort' }

/** Back into the queue with the turn left open, for whoever claims it next. Nothing happens when somebody else has it. */
export async function giveBack({ store, ids }: RecoverContext, { run, session }: Claim): Promise<void> {
  const result = await commitOnce(store, {
    id: ids.next('batch'),
    key: session.key,
    expect: fence(run),
    writes: [{ op: 'run.patch', runId: run.id, patch: { status: 'queued', reason: 'yielded' } }],
  })
  checkTaken(result)
}

const maxTries = 20

/** The turn has ended, or waits, and nothing more is stored behind that: the run comes to rest as its turn did. */
export async function bringToRest({ store, live, ids }: RecoverContext, claim: Claim): Promise<void> {
  const { key } = claim.session
  for (let tries = 0; tries < maxTries; tries++) {
    const [run, session] = await Promise.all([store.readRun(claim.run.id), store.readSession(key)])
    if (run.status === 'missing' || !('value' in session) || run.value.epoch !== claim.run.epoch) return
    const { id, rest, stop } = run.value
    if (!rest) return
    const goesOn = isWaiting(rest.status) && (stop !== undefined || isAllAnswered(openQuestions(run.value, await readAnswers(store, key))))
    const patch = goesOn ? ({ status: 'queued' } as const) : patchOf(rest)
    const result = await commitOnce(store, {
      id: ids.next('batch'),
      key,
      // A stop request that comes meanwhile must be seen.
      expect: [...fence(claim.run), { that: 'session', id: session.value.id, version: session.value.version }],
      writes: [{ op: 'run.patch', runId: id, patch: { ...patch, rest: null } }],
    })
    if (!result.ok && result.reason === 'conflict') continue
    checkTaken(result)
    return live.announce(key)
  }
  throw new SessionError('conflict', `The session ${key} changed ${maxTries} times while a run came to rest.`)
}

/**
 * Ends a run that the loop cannot end: every open call gets an outcome, so that the session goes on. Nothing happens when
 * somebody else has the run by now.
 */
export async function endLostRun(context: RecoverContext, claim: Claim, end: LostRunEnd): Promise<void> {
  const { store, live } = context
  const { key } = claim.session
  const [run, session] = await Promise.all([store.readRun(claim.run.id), store.readSession(key)])
  if (run.status === 'missing' || !('value' in session) || run.value.epoch !== claim.run.epoch) return
  if (run.value.rest) return bringToRest(context, claim)
  const at = context.clock.now()
  const lost: LostRun = {
    run: run.value,
    leaf: session.value.leaf,
    calls: await settleOpenCalls(store, context.ids, run.value, at),
    discarded: run.value.openMessageId === undefined ? undefined : await estimatedInput(store, key),
    answers: (await ownAnswers(store, key, run.value.id)).map((row) => row.id),
    end: run.value.stop && run.value.turn === undefined ? stoppedBefore : end,
    at,
  }
  // Nothing is settled while other runs wait behind this one.
  const result = (await commitEnd(context, lost, true)) ?? (await commitEnd(context, lost, false))
  if (result) live.publish(key, result, true)
}

/** What waits in the inbox for this run. */
export async function ownAnswers(store: SessionStore, key: string, runId: string): Promise<readonly InboxRecord[]> {
  const rows = await readAnswers(store, key)
  return rows.filter((row) => row.id.startsWith(answerId(runId, '')) || row.id.startsWith(decisionId(runId, '')))
}

interface LostRun {
  readonly run: RunRecord
  readonly leaf: string | null
  readonly calls: readonly SettledCall[]
  /** What the answer cost that the model had begun. */
  readonly discarded: Usage | undefined
  /** Inbox rows that nobody will take any more. */
  readonly answers: readonly string[]
  readonly end: LostRunEnd
  readonly at: number
}

/** Undefined: with `settled`, other runs are queued. */
async function commitEnd(
  { store, ids }: RecoverContext,
  lost: LostRun,
  settled: boolean,
): Promise<readonly StoredEvent[] | undefined> {
  const { run } = lost
  const events = lastEvents(lost, settled)
  const result = await commitOnce(store, {
    id: ids.next('batch'),
    key: run.session,
    expect: settled ? [...fence(run), { that: 'none-queued', except: run.id }] : fence(run),
    writes: lastWrites(lost, events),
  })
  if (!result.ok && result.reason === 'runs-queued') return undefined
  checkTaken(result)
  return result.ok ? events.map((event, index): StoredEvent => ({ ...event, seq: result.firstSeq + index })) : []
}

/** Fenced: somebody else has the run. Any other refusal would leave it to nobody. */
function checkTaken(result: CommitResult): void {
  if (result.ok || result.reason === 'fenced' || result.reason === 'missing') return
  throw new SessionError('conflict', `The store refused to let go of a run: ${result.reason}.`)
}

/** One more segment, in which all that is open is closed. A run that never began has its end alone. */
function lastEvents(lost: LostRun, settled: boolean): DurableEvent[] {
  const { run, calls, end, at, discarded } = lost
  const { step, openMessageId: messageId, turn = 0 } = run
  const usage = addUsage(run.usage, discarded ?? {})
  const base = { at, runId: run.id, turn }
  const turnEnd: TurnEndEvent = { ...base, type: 'turn-end', status: end.status, usage, steps: step, overlaysExpired: 0, ...wordsOfTheLoop(end) }
  if (run.turn === undefined) return [turnEnd]
  return [
    { ...base, type: 'turn-start', resumed: true, attempt: run.attempts + 1, cause: 'recovery' },
    ...(messageId === undefined ? [] : [{ ...base, type: 'message-discarded', step, messageId, reason: 'crash' } as const]),
    ...(discarded ? [{ ...base, type: 'usage', purpose: 'discarded-attempt', usage: discarded, estimated: true } as const] : []),
    ...calls.filter((call) => call.fresh).map(({ outcome, started }): DurableEvent => {
      const { toolCallId } = outcome
      const executed = started ? 'here' : 'no'
      return { ...base, type: 'tool-execution-end', step, toolCallId, executed, message: outcome, durationMs: 0 }
    }),
    { ...base, type: 'step-end', step, toolCalls: calls.length, continues: false },
    turnEnd,
    { ...base, type: 'save-point' },
    ...(settled ? [{ ...base, type: 'settled' } as const] : []),
  ]
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

function lastWrites({ run, leaf, calls, answers, end, discarded = {} }: LostRun, events: readonly DurableEvent[]): readonly Write[] {
  const fresh = calls.filter((call) => call.fresh).map(({ record }) => record)
  const entries = entriesOf(calls.filter((call) => !call.inTranscript), leaf, run.id)
  const { status, reason, error = null } = end
  const usage = addUsage(run.usage, discarded)
  return [
    ...(fresh.length > 0 ? [{ op: 'call.put', calls: fresh } as const] : []),
    ...(entries.length > 0 ? [{ op: 'entry.append', entries } as const] : []),
    { op: 'event.append', events: events.map(newEvent) },
    ...(answers.length > 0 ? [{ op: 'inbox.take', ids: answers } as const] : []),
    { op: 'session.patch', patch: { usage: discarded } },
    { op: 'run.patch', runId: run.id, patch: { status, reason, error, usage, ...nothingOpen } },
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

function fence(run: RunRecord): readonly Expect[] {
  return [{ that: 'fence', runId: run.id, epoch: run.epoch }]
}
