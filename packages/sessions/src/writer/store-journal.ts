import {
  AgentError,
  type Accepted,
  type AgentFingerprint,
  type AgentInput,
  type ChildHost,
  type ChildStartEvent,
  type CommitExpectation,
  type CommitOutcome,
  type DeltaEvent,
  type Journal,
  type JournalRecord,
  type JournalState,
  type QueuedInput,
  type Window,
} from '@bowline/agent-loop'
import type { JSONObject, JSONValue } from '@bowline/llm'
import type { CommitRefusal, CommitResult, Delivery, Write } from '../contract/batch.ts'
import type { DefinitionDiff } from '../contract/definition-diff.ts'
import { originOf } from '../contract/origin.ts'
import type { InboxRecord, ToolCallRecord } from '../contract/records.ts'
import type { DeltaSharer } from '../log/share-deltas.ts'
import { eventTimeOf, expectationsOf, isDueNow, isEnd, isFirstStart, isReminder, withdrawnIn } from './boundary.ts'
import { CommitWriter, type CommitWriterOptions } from './commit-writer.ts'
import { runCommit, type RunCommit, type RunStand } from './commits.ts'
import { consumedInputs, decidedIn, isAnswered, withoutDeadline } from './consumed-inputs.ts'
import type { Conversation } from './conversations.ts'
import { deadlineOf } from './deadline.ts'
import { dueCompaction } from './due-compaction.ts'
import { JournalInbox } from './journal-inbox.ts'
import { callRow } from './ledger-rows.ts'
import { numbered } from './new-event.ts'
import { readBackTo } from './read-transcript.ts'
import { untoldBy, untoldEvents, type SettledRow } from './reminders.ts'
import { resumeCause } from './turn-state.ts'

export interface StoreJournalOptions extends CommitWriterOptions {
  readonly conversation: Conversation
  /** Answers and decisions in the inbox. The commit that settles or decides a call takes its row. */
  readonly answers: readonly InboxRecord[]
  /** Stores an input as a run of its own. */
  readonly enqueue: (input: AgentInput) => Promise<Accepted>
  /** Runs subagents. `spawn` stores a start in the queue of the run's commits. */
  readonly hostChildren?: (spawn: (deliveries: readonly Delivery[], event: ChildStartEvent) => Promise<CommitResult>) => ChildHost
  /** Definition of the agent, which is stored in the commit that starts the run. */
  readonly definition?: AgentFingerprint
  /** Changes of the definition since the run started. */
  readonly definitionDiff?: DefinitionDiff
  /** With `turn`, records on which nothing outside depends are stored together with the next ones. */
  readonly durability: 'boundary' | 'turn'
  /** True: the run waits for its reader at the end of each step. */
  readonly isDriven?: boolean
  /** Receives the deltas for readers in other processes. */
  readonly sharer?: DeltaSharer | undefined
  /** Called before each step. */
  readonly beforeStep?: () => void
  /** Called before each commit that can settle the session. */
  readonly onLastCommit?: () => void
}

/** Journal of the loop on a store. Each boundary is one batch under the epoch of the claim. */
export class StoreJournal implements Journal {
  readonly schedulesCompaction = true
  readonly conversation: Conversation
  readonly abortSignal: AbortSignal
  readonly children?: ChildHost
  readonly #options: StoreJournalOptions
  readonly #writer: CommitWriter
  readonly #inbox: JournalInbox
  #stand: RunStand
  /** Commit in progress. Each commit builds on the transcript that the previous one left. */
  #last: Promise<unknown> | undefined
  /** Records that are stored together with the next ones. */
  #held: readonly JournalRecord[] = []
  /** Inbox rows of changed children. The next commit takes them. */
  #childNotifications: readonly string[] = []
  /** True if this claim has shown the model a reminder of background tasks. */
  #hasReminded = false
  #needsFinalize = false
  #hasSettled = false

  constructor(options: StoreJournalOptions) {
    const { store, claim, conversation, abort } = options
    this.conversation = conversation
    this.abortSignal = abort.signal
    this.#options = options
    this.#writer = new CommitWriter(options)
    this.#inbox = new JournalInbox(store, claim, options.isDriven)
    this.#stand = standOf(options, this.#inbox)
    const children = options.hostChildren?.((deliver, event) => this.#spawn(deliver, event))
    if (children) this.children = children
  }

  /** True once the turn has ended or waits while more is to be stored: the run must then be brought to rest. */
  get needsFinalize(): boolean {
    return this.#needsFinalize
  }

  /** True if the run has ended in a commit that found no other open run and no waiting input, and notified no other session. */
  get hasSettled(): boolean {
    return this.#hasSettled
  }

  async load(): Promise<JournalState> {
    const { store, claim, conversation, hostChildren } = this.#options
    const { run, session, inbox } = claim
    const [{ messages, compaction }, calls] = await Promise.all([
      conversation.read(store, session.key, session.leaf, run.turn === undefined ? undefined : run.id),
      run.turn === undefined || run.turnState?.stepState === 'ended' ? [] : store.readCalls(run.id, run.step),
    ])
    // The loop checks each awaited subagent after the claim. A later change is another notification.
    this.#childNotifications = hostChildren ? inbox.filter(({ kind }) => kind === 'child-changed').map(({ id }) => id) : []
    const callSteps = new Map(calls.map((call) => [call.toolCallId, call.step]))
    this.#stand = { ...this.#stand, callSteps, decisions: new Map([...decidedIn(calls), ...this.#stand.decisions]) }
    const state = { messages, ...(compaction && { compaction }), seq: session.nextSeq - 1, turns: session.turns }
    const open = openTurn(this.#options, calls, this.#stand)
    return open ? { ...state, open } : state
  }

  commit(records: readonly JournalRecord[], expect?: CommitExpectation): Promise<CommitOutcome> {
    return this.#inTurn(() => this.#take(records, expect))
  }

  drainInputs(window: Window, max: number): Promise<readonly QueuedInput[]> {
    if (window === 'step-start') this.#options.beforeStep?.()
    return this.#inbox.waiting(window, max)
  }

  enqueue(input: AgentInput): Promise<Accepted> {
    return this.#options.enqueue(input)
  }

  publish(events: readonly DeltaEvent[]): void {
    // Not while events are held: the log does not have the start of the message yet.
    if (this.#held.some(isEvent)) return
    const { live, sharer, claim } = this.#options
    const liveSession = live.session(claim.session.key)
    for (const event of events) {
      const place = liveSession.publishDelta(event)
      sharer?.add(event, place)
    }
  }

  async #take(records: readonly JournalRecord[], expect: CommitExpectation | undefined): Promise<CommitOutcome> {
    const waits = this.#options.durability === 'turn' && !expect && !isDueNow(records)
    return waits ? this.#hold(records) : this.#store([...this.#held, ...records], expect)
  }

  /**
   * Holds records for the next commit. Readers get the events once they are stored; their numbers until then are for the loop only.
   */
  #hold(records: readonly JournalRecord[]): CommitOutcome {
    const { live, claim } = this.#options
    const firstSeq = live.session(claim.session.key).lastSeq + this.#held.filter(isEvent).length + 1
    this.#held = [...this.#held, ...records]
    return { ok: true, firstSeq }
  }

  async #store(given: readonly JournalRecord[], expect?: CommitExpectation): Promise<CommitOutcome> {
    const {
      store,
      live,
      ids,
      onLastCommit,
      claim: { run, session },
    } = this.#options
    const untold = await this.#untoldIn(given)
    const errors = untoldEvents(untold, { at: eventTimeOf(given), runId: run.id, turn: run.turn ?? session.turns + 1 })
    // The errors come first, so that the numbers of the loop's own events follow each other.
    const records = [...errors.map((event): JournalRecord => ({ type: 'event', event })), ...given]
    const withdrawn = withdrawnIn(records)
    const tail = withdrawn.size === 0 ? [] : await readBackTo(store, session.key, withdrawn)
    const commit = runCommit(records, this.#stand, { tail, nextId: () => ids.next('entry') })
    const writes = this.#writesOf(records, commit, untold)
    // Only the end of a run that leaves nothing open expects both.
    const settles = expect?.noInputs === true && expect.nothingQueued === true && !originOf(run)
    if (settles) onLastCommit?.()
    const result = await this.#writer.write({ records, writes, expect: expectationsOf(expect, run.id), spent: commit.after.spent })
    if (!result.ok) return this.#refuse(result.reason)
    this.#stored(records, commit)
    this.#hasSettled = settles
    live.publish(session.key, numbered(commit.events, result), true, result.ends ? run.id : undefined)
    return { ok: true, firstSeq: result.firstSeq + errors.length }
  }

  /** Returns the rows that stay unreported: the commit ends the run before its model saw a reminder of them. */
  async #untoldIn(records: readonly JournalRecord[]): Promise<readonly SettledRow[]> {
    if (this.#hasReminded || !records.some(isEnd) || records.some(isReminder)) return []
    return untoldBy(this.#options.store, this.#options.claim.run)
  }

  #writesOf(records: readonly JournalRecord[], { writes }: RunCommit, untold: readonly SettledRow[]): readonly Write[] {
    const {
      ids,
      claim: { run },
    } = this.#options
    const taken = [...this.#childNotifications, ...untold.map(({ id }) => id)]
    return [
      ...withDefinition(this.#options, records, writes),
      ...(taken.length > 0 ? [{ op: 'inbox.take', ids: taken } as const] : []),
      ...deadlineOf(records, run),
      ...dueCompaction(records, run, () => ids.next('run')),
    ]
  }

  #stored(records: readonly JournalRecord[], { after }: RunCommit): void {
    this.#options.sharer?.clear()
    this.#inbox.stored()
    this.conversation.committed(records, this.#stand.leaf, after.leaf)
    this.#stand = after
    this.#hasReminded ||= records.some(isReminder)
    this.#needsFinalize ||= records.some((record) => record.type === 'run' && record.run.followed === true)
    this.#childNotifications = []
    this.#held = []
  }

  #refuse(reason: CommitRefusal): CommitOutcome {
    if (reason === 'inputs-waiting') this.#inbox.refused()
    if (reason === 'runs-queued' || reason === 'nothing-queued' || reason === 'inputs-waiting') return { ok: false, reason }
    if (reason === 'fenced' || reason === 'missing' || reason === 'deleted') {
      throw new AgentError('fenced', 'Another process has taken over the run.')
    }
    throw new AgentError('journal-failed', `The store refused the commit: ${reason}.`)
  }

  #spawn(deliver: readonly Delivery[], event: ChildStartEvent): Promise<CommitResult> {
    return this.#inTurn(async () => {
      if (this.#held.length > 0) await this.#store(this.#held)
      return this.#writer.start(deliver, event)
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last ? this.#last.then(work) : work()
    const leave = (): void => {
      if (this.#last === over) this.#last = undefined
    }
    const over = done.then(leave, leave)
    this.#last = over
    return done
  }
}

function standOf({ claim: { run, session }, answers }: StoreJournalOptions, inbox: JournalInbox): RunStand {
  return {
    runId: run.id,
    session: session.key,
    leaf: session.leaf,
    usage: run.usage,
    turnState: run.turnState,
    spent: originOf(run) && (run.turnState?.spent ?? { usage: {} }),
    callSteps: new Map(),
    ...consumedInputs(answers, run.stop !== undefined),
    inputs: inbox.given,
  }
}

/** Returns undefined if the run has not started its turn. */
function openTurn({ claim, definitionDiff }: StoreJournalOptions, calls: readonly ToolCallRecord[], stand: RunStand): JournalState['open'] {
  const { run } = claim
  if (run.turn === undefined) return undefined
  return {
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
      ...(definitionDiff ? { definitionDiff: definitionDiff as unknown as JSONValue } : {}),
    },
  }
}

/** Adds the definition of the agent to the commit that starts the run. */
function withDefinition(
  { definition, claim }: StoreJournalOptions,
  records: readonly JournalRecord[],
  writes: readonly Write[],
): readonly Write[] {
  if (!definition || claim.run.turn !== undefined || !records.some(isFirstStart)) return writes
  const { hash } = definition
  const body = JSON.parse(JSON.stringify(definition)) as JSONObject
  return [
    { op: 'definition.put', hash, body },
    ...writes.map((write) => (write.op === 'run.patch' ? { ...write, patch: { ...write.patch, definition: hash } } : write)),
  ]
}

function isEvent(record: JournalRecord): boolean {
  return record.type === 'event'
}
