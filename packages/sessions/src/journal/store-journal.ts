import {
  AgentError,
  type AbortCause,
  type Accepted,
  type AgentFingerprint,
  type AgentInput,
  type ChildHost,
  type CommitExpectation,
  type CommitOutcome,
  type IdSource,
  type Journal,
  type JournalRecord,
  type JournalState,
  type ResumeCause,
} from '@bowline/agent-loop'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { newsOfChild } from '../children/deliveries.ts'
import type { DefinitionDiff } from '../definition/definition-diff.ts'
import type { LiveLog } from '../log/live-log.ts'
import { isWaiting } from '../session/views.ts'
import { commitOnce } from '../store/commit-once.ts'
import type { Claim, CommitRefusal, CommitResult, Delivery, Expect, SessionStore, Write } from '../store/contract.ts'
import type { InboxRecord, StoredEvent, ToolCallRecord } from '../store/records.ts'
import { runCommit, type RunStand } from './commits.ts'
import { JournalInbox } from './journal-inbox.ts'
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
  /** Runs subagents; `spawn` stores the start of one in the queue of the run's commits. */
  readonly hostChildren?: (spawn: (deliveries: readonly Delivery[]) => Promise<CommitResult>) => ChildHost
  /** Of the agent, to be stored in the commit with which the run begins. */
  readonly definition?: AgentFingerprint
  /** How the definition has changed since the run began. */
  readonly definitionDiff?: DefinitionDiff
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
  const inbox = new JournalInbox(store, session.key, run.id)
  let stand: RunStand = {
    runId: run.id,
    session: session.key,
    leaf: session.leaf,
    usage: run.usage,
    turnState: run.turnState,
    callSteps: new Map(),
    ...takenFrom(options.answers, run.stop !== undefined),
    inputs: inbox.given,
  }
  // Commits of one run follow each other, so that each builds on where the one before left the transcript.
  let queue: Promise<unknown> = Promise.resolve()
  let owesRest = false
  /** Inbox rows that the next commit takes, whatever it is about. */
  let news: readonly string[] = []

  async function load(): Promise<JournalState> {
    const [transcript, calls, changed] = await Promise.all([
      readTranscript(store, session.key),
      run.turn === undefined || run.turnState?.stepState === 'ended' ? [] : store.readCalls(run.id, run.step),
      options.hostChildren ? store.readInbox(session.key, ['child-changed']) : [],
    ])
    // Each subagent that is waited for is asked anew, now that these are read: what comes later is other news.
    news = changed.map((row) => row.id)
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
        resume: {
          cause: resumeCause(claim),
          attempt: run.attempts + 1,
          ...(options.definitionDiff ? { definitionDiff: options.definitionDiff as unknown as JSONValue } : {}),
        },
      },
    }
  }

  async function commit(...[records, expect]: Parameters<Journal['commit']>): Promise<CommitOutcome> {
    const tail = await readBackTo(store, session.key, withdrawnIn(records))
    const { writes, events, after } = runCommit(records, stand, { tail, nextId: () => ids.next('entry') })
    const expectations = [...fence, ...expectationsOf(expect, run.id)]
    const all = [...writes, ...(news.length > 0 ? [{ op: 'inbox.take', ids: news } as const] : []), ...timersOf(records, run.id), ...definitionOf(records)]
    const result = await commitAsItStands(records, expectations, all, after)
    if (!result.ok) return refused(result.reason)
    stand = after
    news = []
    owesRest ||= records.some((record) => record.type === 'run' && record.run.followed === true)
    const numbered = events.map((event, index): StoredEvent => ({ ...event, seq: result.firstSeq + index }))
    live.publish(session.key, numbered, true)
    return { ok: true, firstSeq: result.firstSeq }
  }

  /** What happens to the run meanwhile changes how the commit leaves it. */
  async function commitAsItStands(
    records: readonly JournalRecord[],
    expect: readonly Expect[],
    writes: readonly Write[],
    after: RunStand,
  ): Promise<CommitResult> {
    const result = await storeBatch(records, [...expect, ...guard(records), ...(isSuspension(records) ? nothingNew : [])], writes, after)
    if (result.ok || (result.reason !== 'stopping' && !(result.reason === 'inputs-waiting' && isSuspension(records)))) return result
    return storeBatch(records, expect, result.reason === 'stopping' ? meetStop(records, writes) : goingOn(writes), after)
  }

  function storeBatch(records: readonly JournalRecord[], expect: readonly Expect[], writes: readonly Write[], { usage }: RunStand): Promise<CommitResult> {
    const id = ids.next('batch')
    const patch = run.parent && writes.findLast((write) => write.op === 'run.patch')?.patch
    const at = eventTimeOf(records)
    const deliver = patch?.status ? newsOfChild(run, { status: patch.status, usage, cost: patch.cost, at, batchId: id }) : []
    return commitOnce(store, { id, key: session.key, expect, writes, ...(deliver.length > 0 ? { deliver } : {}) })
  }

  function definitionOf(records: readonly JournalRecord[]): readonly Write[] {
    const { definition } = options
    if (!definition || run.turn !== undefined || !records.some(isFirstStart)) return []
    const body = JSON.parse(JSON.stringify(definition)) as JSONObject
    return [
      { op: 'definition.put', hash: definition.hash, body },
      { op: 'run.patch', runId: run.id, patch: { definition: definition.hash } },
    ]
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
    return goingOn(writes)
  }

  const children = options.hostChildren?.((deliver) => {
    const expect: Expect[] = [...fence, { that: 'run', runId: run.id, status: ['running'], notStopping: true }]
    const done = queue.then(() => commitOnce(store, { id: ids.next('batch'), key: session.key, expect, writes: [], deliver }))
    queue = done.catch(() => undefined)
    return done
  })

  return {
    load,
    takeInputs: (_window, max) => inbox.waiting(max),
    get owesRest() {
      return owesRest
    },
    commit(records, expect) {
      const done = queue.then(() => commit(records, expect))
      queue = done.catch(() => undefined)
      return done
    },
    publish(events) {
      const liveSession = live.session(session.key)
      for (const event of events) liveSession.publishDelta(event)
    },
    ...(children ? { children } : {}),
    enqueue: options.enqueue,
    abortSignal: abort.signal,
  }
}

function expectationsOf({ noInputs, nothingQueued }: CommitExpectation = {}, runId: string): readonly Expect[] {
  return [
    ...(noInputs ? [{ that: 'inbox-empty', kinds: ['steer', 'child-settled'] } as const] : []),
    ...(nothingQueued ? [{ that: 'none-queued', except: runId } as const] : []),
  ]
}

/** A run that was about to wait is queued instead. */
function goingOn(writes: readonly Write[]): readonly Write[] {
  return writes.map((write) => {
    if (write.op !== 'run.patch' || !write.patch.status || !isWaiting(write.patch.status)) return write
    return { ...write, patch: { ...write.patch, status: 'queued' } }
  })
}

const nothingNew: readonly Expect[] = [{ that: 'inbox-empty', kinds: ['child-changed'] }]

/** The run comes to wait in this commit; one that is followed does so later. */
function isSuspension(records: readonly JournalRecord[]): boolean {
  return records.some((record) => record.type === 'run' && record.run.state === 'suspended' && !record.run.followed)
}

function eventTimeOf(records: readonly JournalRecord[]): number {
  return records.reduce((at, record) => (record.type === 'event' ? record.event.at : at), 0)
}

/** Wakes a run that waits, at the earliest time that one of its calls waits for. */
function timersOf(records: readonly JournalRecord[], runId: string): readonly Write[] {
  const row = records.findLast((record) => record.type === 'run')?.run
  if (row?.state !== 'suspended') return []
  const times = [...(row.pendingToolCalls ?? []), ...(row.pendingApprovals ?? [])].flatMap((each) => each.deadlineAt ?? [])
  if (times.length === 0) return []
  return [{ op: 'timer.put', timers: [{ id: `deadline:${runId}`, kind: 'deadline', dueAt: Math.min(...times), body: { runId } }] }]
}

/** Messages that stood in the transcript before these records. */
function withdrawnIn(records: readonly JournalRecord[]): ReadonlySet<string> {
  const withdrawn = new Set(records.flatMap((record) => (record.type === 'discard' ? record.messageIds : [])))
  for (const record of records) if (record.type === 'append') withdrawn.delete(record.message.id)
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
    if (row.kind === 'decision') {
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
  if (reason === 'runs-queued' || reason === 'inputs-waiting') return { ok: false, reason }
  if (reason === 'fenced' || reason === 'missing' || reason === 'deleted') {
    throw new AgentError('fenced', 'The run belongs to another process by now.')
  }
  throw new AgentError('journal-failed', `The store refused the commit: ${reason}.`)
}
