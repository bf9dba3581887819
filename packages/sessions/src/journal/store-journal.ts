import {
  AgentError,
  type AbortCause,
  type Accepted,
  type AgentInput,
  type CommitOutcome,
  type IdSource,
  type Journal,
  type JournalRecord,
  type JournalState,
  type ResumeCause,
} from '@bowline/agent-loop'
import type { LiveLog } from '../log/live-log.ts'
import { isWaiting } from '../session/views.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { Claim, CommitRefusal, Expect, SessionStore, Write } from '../store/contract.ts'
import type { InboxRecord, StoredEvent, ToolCallRecord } from '../store/records.ts'
import { runCommit, type RunStand } from './commits.ts'
import { callRow, type TakenAnswer, type TakenDecision } from './ledger-rows.ts'
import { readBackTo, readTranscript } from './read-transcript.ts'

export interface StoreJournalOptions {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly ids: IdSource
  readonly claim: Claim
  /** Answers and decisions that wait in the inbox; each is taken in the commit that settles or decides its call. */
  readonly answers: readonly InboxRecord[]
  /** Makes an input a run of its own. */
  readonly enqueue: (input: AgentInput) => Promise<Accepted>
  /** Follows a stop request that a commit meets in the store. */
  readonly abort: AbortController
}

export interface StoreJournal extends Journal {
  /** The turn has ended, or waits, and the run comes to rest as stored when nothing more is to be stored behind that. */
  readonly owesRest: boolean
}

/** The loop's journal over a store: one boundary, one batch, under the epoch of the claim. */
export function storeJournal(options: StoreJournalOptions): StoreJournal {
  const { store, live, ids, claim, abort } = options
  const { run, session } = claim
  const fence: readonly Expect[] = [
    { that: 'session', id: session.id },
    { that: 'fence', runId: run.id, epoch: run.epoch },
  ]
  let stand: RunStand = {
    runId: run.id,
    session: session.key,
    leaf: session.leaf,
    usage: run.usage,
    turnState: run.turnState,
    callSteps: new Map(),
    ...takenFrom(options.answers, run.stop !== undefined),
  }
  // Commits of one run follow each other, so that each builds on where the one before left the transcript.
  let queue: Promise<unknown> | undefined
  let owesRest = false

  async function load(): Promise<JournalState> {
    const [transcript, calls] = await Promise.all([
      readTranscript(store, session.key, run.id),
      run.turn === undefined || run.turnState?.stepState === 'ended' ? [] : store.readCalls(run.id, run.step),
    ])
    const callSteps = new Map(calls.map((call) => [call.toolCallId, call.step]))
    stand = { ...stand, callSteps, decisions: new Map([...decidedIn(calls), ...stand.decisions]) }
    const state = { ...transcript, seq: session.nextSeq - 1, turns: session.turns }
    if (run.turn === undefined) return state
    return {
      ...state,
      open: {
        runId: run.id,
        turn: run.turn,
        step: run.step,
        ...(run.openMessageId === undefined ? {} : { openMessageId: run.openMessageId }),
        calls: calls.map((call) => callRow(isAnswered(call, stand) ? withoutDeadline(call) : call)),
        usage: run.usage,
        ...run.turnState,
        resume: { cause: resumeCause(claim), attempt: run.attempts + 1 },
      },
    }
  }

  async function commit(...[records, expect]: Parameters<Journal['commit']>): Promise<CommitOutcome> {
    const withdrawn = withdrawnIn(records)
    const tail = withdrawn.size === 0 ? [] : await readBackTo(store, session.key, withdrawn)
    const { writes, events, after } = runCommit(records, stand, { tail, nextId: () => ids.next('entry') })
    const expectations = expect?.nothingQueued ? [...fence, { that: 'none-queued', except: run.id } as const] : fence
    let result = await commitOnce(store, { id: ids.next('batch'), key: session.key, expect: [...expectations, ...guard(records)], writes })
    if (!result.ok && result.reason === 'stopping') {
      result = await commitOnce(store, { id: ids.next('batch'), key: session.key, expect: expectations, writes: meetStop(records, writes) })
    }
    if (!result.ok) return refused(result.reason)
    stand = after
    owesRest ||= records.some((record) => record.type === 'run' && record.run.followed === true)
    const numbered = events.map((event, index): StoredEvent => ({ ...event, seq: result.firstSeq + index }))
    live.publish(session.key, numbered, true)
    return { ok: true, firstSeq: result.firstSeq }
  }

  /** A stop request that is stored must not be overtaken by what it was to prevent. A run claimed with one knows of it. */
  function guard(records: readonly JournalRecord[]): readonly Expect[] {
    if (run.stop || !records.some(goesOn)) return []
    return [{ that: 'run', runId: run.id, status: ['running'], notStopping: true }]
  }

  /**
   * The loop is told before it can act on the commit: model and tools do not start. A run that was about to wait is
   * queued instead, to be ended by whoever claims it.
   */
  function meetStop(records: readonly JournalRecord[], writes: readonly Write[]): readonly Write[] {
    if (records.some(isFirstStart)) throw new AgentError('journal-failed', 'The run was stopped before it began.')
    abort.abort({ kind: 'stop' } satisfies AbortCause)
    return writes.map((write) => {
      if (write.op !== 'run.patch' || !write.patch.status || !isWaiting(write.patch.status)) return write
      return { ...write, patch: { ...write.patch, status: 'queued' } }
    })
  }

  return {
    load,
    get owesRest() {
      return owesRest
    },
    commit(records, expect) {
      const done = queue ? queue.then(() => commit(records, expect)) : commit(records, expect)
      const over = done.then(leave, leave)
      function leave(): void {
        if (queue === over) queue = undefined
      }
      queue = over
      return done
    },
    publish(events) {
      const liveSession = live.session(session.key)
      for (const event of events) liveSession.publishDelta(event)
    },
    enqueue: options.enqueue,
    abortSignal: abort.signal,
  }
}

/** Messages that stood in the transcript before these records. */
function withdrawnIn(records: readonly JournalRecord[]): ReadonlySet<string> {
  const withdrawn = new Set<string>()
  for (const record of records) if (record.type === 'discard') for (const id of record.messageIds) withdrawn.add(id)
  if (withdrawn.size > 0) for (const record of records) if (record.type === 'append') withdrawn.delete(record.message.id)
  return withdrawn
}

/** A commit after which something starts, or the run waits for somebody. */
function goesOn(record: JournalRecord): boolean {
  if (record.type === 'run') return record.run.state === 'suspended'
  if (record.type !== 'event') return false
  return record.event.type === 'message-start' || record.event.type === 'tool-execution-start' || isFirstStart(record)
}

function isFirstStart(record: JournalRecord): boolean {
  return record.type === 'event' && record.event.type === 'turn-start' && !record.event.resumed
}

/** Why a run that was begun earlier goes on now. */
function resumeCause({ previous, run }: Claim): ResumeCause {
  if (previous === 'running') return 'takeover'
  if (run.reason === 'yielded') return 'yield'
  return run.reason === 'unknown-outcome' ? 'recovery' : 'answers'
}

/** An answer that was accepted counts whenever it is taken. */
function withoutDeadline({ deadlineAt: _deadlineAt, ...call }: ToolCallRecord): ToolCallRecord {
  return call
}

/** A stopped run takes its answers out of the inbox, but its calls end as cancelled. */
function takenFrom(rows: readonly InboxRecord[], stopped: boolean): Pick<RunStand, 'answers' | 'decisions'> {
  const answers = new Map<string, TakenAnswer>()
  const decisions = new Map<string, TakenDecision>()
  for (const { id: inboxId, at, ...row } of rows) {
    if (row.kind === 'answer') answers.set(row.body.toolCallId, { inboxId, ...(stopped ? {} : { hash: row.body.hash }) })
    else {
      const { approvalId, by } = row.body
      decisions.set(approvalId, { inboxId, decided: { at, ...(by === undefined ? {} : { by }) } })
    }
  }
  return { answers, decisions }
}

/** Decisions that were taken earlier: their rows keep what was said of them. */
function decidedIn(calls: readonly ToolCallRecord[]): readonly (readonly [string, TakenDecision])[] {
  return calls.flatMap(({ approval }) => (approval?.decided ? [[approval.approvalId, { decided: approval.decided }] as const] : []))
}

function isAnswered({ toolCallId, approval }: ToolCallRecord, { answers, decisions }: RunStand): boolean {
  const decision = approval && decisions.get(approval.approvalId)
  return answers.has(toolCallId) || decision?.inboxId !== undefined
}

function refused(reason: CommitRefusal): CommitOutcome {
  if (reason === 'runs-queued') return { ok: false, reason }
  if (reason === 'fenced' || reason === 'missing') {
    throw new AgentError('fenced', 'The run belongs to another process by now.')
  }
  throw new AgentError('journal-failed', `The store refused the commit: ${reason}.`)
}
