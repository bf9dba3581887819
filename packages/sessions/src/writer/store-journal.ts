import {
  AgentError,
  type AbortCause,
  type Accepted,
  type AgentFingerprint,
  type AgentInput,
  type ChildHost,
  type ChildStartEvent,
  type CommitExpectation,
  type CommitOutcome,
  type IdSource,
  type Journal,
  type JournalRecord,
  type JournalState,
} from '@bowline/agent-loop'
import type { JSONObject, JSONValue } from '@bowline/llm'
import { originOf } from '../contract/origin.ts'
import { untoldBy, untoldEvents, type SettledRow } from './reminders.ts'
import { notifyParent } from './notify-parent.ts'
import type { DefinitionDiff } from '../contract/definition-diff.ts'
import type { LiveLog } from '../log/live-log.ts'
import type { DeltaSharer } from '../log/share-deltas.ts'
import { SessionError, type SessionErrorCode } from '../errors.ts'
import { commitOnce } from '../contract/commit-once.ts'
import type { CommitRefusal, CommitResult, Delivery, Expect, Write } from '../contract/batch.ts'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import type { InboxRecord } from '../contract/records.ts'
import { endsRun, eventTimeOf, expectationsOf, goesOn, goingOn, isDueNow, isEnd, isFirstStart, isLastWord, isReminder, isSuspension, nothingNew, withdrawnIn } from './boundary.ts'
import { runCommit, type RunStand } from './commits.ts'
import { dueCompaction } from './due-compaction.ts'
import { JournalInbox } from './journal-inbox.ts'
import { deadlineOf } from './deadline.ts'
import { callRow } from './ledger-rows.ts'
import { newEvent, numbered } from './new-event.ts'
import { readBackTo, readTranscript } from './read-transcript.ts'
import { decidedIn, isAnswered, consumedInputs, withoutDeadline } from './consumed-inputs.ts'
import { resumeCause } from './turn-state.ts'

export interface StoreJournalOptions {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly ids: IdSource
  readonly claim: Claim
  readonly conversation: object
  /** Answers and decisions that wait in the inbox; each is taken in the commit that settles or decides its call. */
  readonly answers: readonly InboxRecord[]
  /** Makes an input a run of its own. */
  readonly enqueue: (input: AgentInput) => Promise<Accepted>
  /** Runs subagents; `spawn` stores the start of one in the queue of the run's commits. */
  readonly hostChildren?: (spawn: (deliveries: readonly Delivery[], event: ChildStartEvent) => Promise<CommitResult>) => ChildHost
  /** Of the agent, to be stored in the commit with which the run begins. */
  readonly definition?: AgentFingerprint
  /** How the definition has changed since the run began. */
  readonly definitionDiff?: DefinitionDiff
  /** `turn`: what no outside world depends on is stored with what comes behind it. */
  readonly durability: 'boundary' | 'turn'
  /** Follows a stop request that a commit meets in the store. */
  readonly abort: AbortController
  /** Gets the deltas for readers in other processes. */
  readonly sharer?: DeltaSharer | undefined
  /** Called before each commit that can settle the session. */
  readonly onLastCommit?: () => void
  /** Called with each failure of the store. The loop gets an error without file names, because clients read the error of a run. */
  readonly onFailure?: (error: unknown) => void
}

export interface StoreJournal extends Journal {
  /** The turn has ended, or waits, and the run comes to rest as stored when nothing more is to be stored behind that. */
  readonly needsFinalize: boolean
  /** The run has ended in a commit that found no other run open and no input waiting, and told no other session. */
  readonly hasSettled: boolean
}

const storeFailures: ReadonlySet<SessionErrorCode> = new Set(['store-unavailable', 'store-full', 'store-corrupt', 'store-locked', 'schema-too-new'])

/** The loop's journal over a store: one boundary, one batch, under the epoch of the claim. */
export function storeJournal(options: StoreJournalOptions): StoreJournal {
  const { store, live, ids, claim, abort } = options
  const { run, session } = claim
  const fence: readonly Expect[] = [
    { that: 'session', id: session.id },
    { that: 'fence', runId: run.id, epoch: run.epoch },
  ]
  const inbox = new JournalInbox(store, claim)
  let stand: RunStand = {
    runId: run.id,
    session: session.key,
    leaf: session.leaf,
    usage: run.usage,
    turnState: run.turnState,
    spent: originOf(run) && (run.turnState?.spent ?? { usage: {} }),
    callSteps: new Map(),
    ...consumedInputs(options.answers, run.stop !== undefined),
    inputs: inbox.given,
  }
  // Commits of one run follow each other, so that each builds on where the one before left the transcript.
  let queue: Promise<unknown> | undefined
  let needsFinalize = false
  let hasSettled = false
  const isTask = run.parent?.taskId !== undefined
  /** Inbox rows that the next commit takes, whatever it is about. */
  let news: readonly string[] = []
  /** The model was given a reminder of background tasks, by this claim. */
  let hasTold = false
  /** Records that wait to be stored with the next ones. */
  let held: readonly JournalRecord[] = []
  let heldEvents = 0

  async function load(): Promise<JournalState> {
    const [transcript, calls] = await Promise.all([
      readTranscript(store, session.key, run.id),
      run.turn === undefined || run.turnState?.stepState === 'ended' ? [] : store.readCalls(run.id, run.step),
    ])
    // Each subagent that is waited for is asked anew after the claim: what comes later is other news.
    news = options.hostChildren ? claim.inbox.filter(({ kind }) => kind === 'child-changed').map(({ id }) => id) : []
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

  async function commit(given: readonly JournalRecord[], expect?: CommitExpectation): Promise<CommitOutcome> {
    const waits = options.durability === 'turn' && !expect && !isDueNow(given)
    return waits ? hold(given) : commitAll([...held, ...given], expect)
  }

  async function commitAll(given: readonly JournalRecord[], expect?: CommitExpectation): Promise<CommitOutcome> {
    const untold = await untoldIn(given)
    const errors = untoldEvents(untold, { at: eventTimeOf(given), runId: run.id, turn: run.turn ?? session.turns + 1 })
    // First, so that the numbers of the loop's own events follow each other.
    const records = [...errors.map((event): JournalRecord => ({ type: 'event', event })), ...given]
    const withdrawn = withdrawnIn(records)
    const tail = withdrawn.size === 0 ? [] : await readBackTo(store, session.key, withdrawn)
    const { writes, events, after } = runCommit(records, stand, { tail, nextId: () => ids.next('entry') })
    const expectations = [...fence, ...expectationsOf(expect, run.id)]
    const taken = [...news, ...untold.map(({ id }) => id)]
    const told = taken.length > 0 ? [{ op: 'inbox.take', ids: taken } as const] : []
    const all = [...withDefinition(records, writes), ...told, ...deadlineOf(records, run), ...dueCompaction(records, run, () => ids.next('run'))]
    const settles = expect?.noInputs === true && expect.nothingQueued === true && !originOf(run) && isLastWord(records, all)
    if (settles) options.onLastCommit?.()
    const result = await commitAsItStands(records, expectations, all, after)
    if (!result.ok) {
      if (result.reason === 'inputs-waiting') inbox.refused()
      return refused(result.reason)
    }
    inbox.stored()
    stand = after
    hasTold ||= records.some(isReminder)
    news = []
    held = []
    heldEvents = 0
    hasSettled = settles
    options.sharer?.clear()
    needsFinalize ||= records.some((record) => record.type === 'run' && record.run.followed === true)
    live.publish(session.key, numbered(events, result.firstSeq), true, result.ends ? run.id : undefined)
    return { ok: true, firstSeq: result.firstSeq + errors.length }
  }

  /** The rows of which this commit ends the run without having told its model. */
  async function untoldIn(records: readonly JournalRecord[]): Promise<readonly SettledRow[]> {
    if (hasTold || !records.some(isEnd) || records.some(isReminder)) return []
    return untoldBy(store, run)
  }

  /** Nobody reads the numbers that these events get for now: they are published when they are stored. */
  function hold(records: readonly JournalRecord[]): CommitOutcome {
    const firstSeq = live.session(session.key).lastSeq + heldEvents + 1
    held = [...held, ...records]
    heldEvents += records.filter((record) => record.type === 'event').length
    return { ok: true, firstSeq }
  }

  /** What happens to the run meanwhile changes how the commit leaves it. */
  async function commitAsItStands(
    records: readonly JournalRecord[],
    expect: readonly Expect[],
    writes: readonly Write[],
    after: RunStand,
  ): Promise<CommitResult & { readonly ends?: boolean }> {
    const result = await storeBatch(records, [...expect, ...guard(records), ...(isSuspension(records) ? nothingNew : [])], writes, after)
    if (result.ok || (result.reason !== 'stopping' && !(result.reason === 'inputs-waiting' && isSuspension(records)))) return result
    const stopped = result.reason === 'stopping'
    return storeBatch(records, expect, stopped ? meetStop(records, writes) : goingOn(writes), after, stopped)
  }

  async function storeBatch(
    ...[records, expect, writes, { spent }, stopped = run.stop !== undefined]: [...Parameters<typeof commitAsItStands>, stopped?: boolean]
  ): Promise<CommitResult & { readonly ends?: boolean }> {
    const id = ids.next('batch')
    const deliver = await notifyParent(store, run, { records, writes, spent, stopped, batchId: id })
    const result = await commitOnce(store, { id, key: session.key, expect, writes, deliver })
    if (result.ok) for (const { to } of deliver) live.announce(to)
    return { ...result, ends: writes.some(endsRun) }
  }

  /** The run begins with the definition that its agent has today. */
  function withDefinition(records: readonly JournalRecord[], writes: readonly Write[]): readonly Write[] {
    const { definition } = options
    if (!definition || run.turn !== undefined || !records.some(isFirstStart)) return writes
    const { hash } = definition
    const body = JSON.parse(JSON.stringify(definition)) as JSONObject
    return [
      { op: 'definition.put', hash, body },
      ...writes.map((write) => (write.op === 'run.patch' ? { ...write, patch: { ...write.patch, definition: hash } } : write)),
    ]
  }

  /**
   * A stop request that is stored must not be overtaken by what it was to prevent: among that is the word that a child in
   * the background has ended. A run claimed with one knows of it.
   */
  function guard(records: readonly JournalRecord[]): readonly Expect[] {
    if (run.stop || !records.some((record) => goesOn(record) || (isTask && isEnd(record)))) return []
    return [{ that: 'run', runId: run.id, status: ['running'], notStopping: true }]
  }

  /** The loop is told before it acts on the commit: nothing starts. A run about to wait is queued instead, to be claimed and ended. */
  function meetStop(records: readonly JournalRecord[], writes: readonly Write[]): readonly Write[] {
    if (records.some(isFirstStart)) throw new AgentError('journal-failed', 'The run was stopped before it began.')
    abort.abort({ kind: 'stop' } satisfies AbortCause)
    return goingOn(writes)
  }

  const children = options.hostChildren?.((deliver, event) => {
    const expect: Expect[] = [...fence, { that: 'run', runId: run.id, status: ['running'], notStopping: true }]
    return inTurn(async () => {
      if (held.length > 0) await commitAll(held)
      const result = await commitOnce(store, { id: ids.next('batch'), key: session.key, expect, writes: [{ op: 'event.append', events: [newEvent(event)] }], deliver })
      if (result.ok) live.publish(session.key, [{ ...event, seq: result.firstSeq }], true)
      if (!result.ok && result.reason === 'stopping') abort.abort({ kind: 'stop' } satisfies AbortCause)
      return result
    })
  })

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue ? queue.then(work) : work()
    const over = done.then(leave, leave)
    function leave(): void {
      if (queue === over) queue = undefined
    }
    queue = over
    return done
  }

  /** The text of a store's error names its files. */
  function reported<T>(work: Promise<T>): Promise<T> {
    return work.catch((error: unknown) => {
      if (!SessionError.isInstance(error) || !storeFailures.has(error.code)) throw error
      options.onFailure?.(error)
      throw new AgentError('journal-failed', `The store failed (${error.code}).`, { cause: error })
    })
  }

  return {
    load: () => reported(load()),
    takeInputs: (window, max) => inbox.waiting(window, max),
    get needsFinalize() {
      return needsFinalize
    },
    get hasSettled() {
      return hasSettled
    },
    commit: (records, expect) => reported(inTurn(() => commit(records, expect))),
    publish(events) {
      // Of a message whose beginning is not in the log yet.
      if (heldEvents > 0) return
      const liveSession = live.session(session.key)
      for (const event of events) {
        const place = liveSession.publishDelta(event)
        options.sharer?.add(event, place)
      }
    },
    ...(children ? { children: { ...children, start: (request) => reported(children.start(request)) } } : {}),
    enqueue: options.enqueue,
    schedulesCompaction: true,
    conversation: options.conversation,
    abortSignal: abort.signal,
  }
}

function refused(reason: CommitRefusal): CommitOutcome {
  if (reason === 'runs-queued' || reason === 'nothing-queued' || reason === 'inputs-waiting') return { ok: false, reason }
  if (reason === 'fenced' || reason === 'missing' || reason === 'deleted') {
    throw new AgentError('fenced', 'The run belongs to another process by now.')
  }
  throw new AgentError('journal-failed', `The store refused the commit: ${reason}.`)
}
