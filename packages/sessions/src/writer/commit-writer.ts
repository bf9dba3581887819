import { AgentError, type AbortCause, type ChildStartEvent, type IdSource, type JournalRecord } from '@bowline/agent-loop'
import type { CommitResult, Delivery, Expect, Write } from '../contract/batch.ts'
import { isAllAnswered, openQuestions, readAnswers } from '../contract/answers.ts'
import type { RunSpending } from '../contract/records.ts'
import type { Claim, SessionStore } from '../contract/session-store.ts'
import type { LiveLog } from '../log/live-log.ts'
import { endsRun, goesOn, goingOn, isEnd, isFirstStart, isSuspension, nothingNew, questionsIn } from './boundary.ts'
import { newEvent, numbered } from './new-event.ts'
import { notifyParent } from './notify-parent.ts'

export interface CommitWriterOptions {
  readonly store: SessionStore
  readonly live: LiveLog
  readonly ids: IdSource
  readonly claim: Claim
  /** Aborted if a commit meets a stored stop request. */
  readonly abort: AbortController
}

/** A commit of the run, as it is stored if nothing else changes the run meanwhile. */
export interface CommitDraft {
  readonly records: readonly JournalRecord[]
  readonly writes: readonly Write[]
  readonly expect: readonly Expect[]
  /** Spent by the run so far, this commit included. */
  readonly spent: RunSpending | undefined
}

/** `ends` is true if the run has ended in the commit. */
export type Written = CommitResult & { readonly ends?: boolean }

/** Commits batches of a run under the epoch of its claim, and notifies the sessions above. */
export class CommitWriter {
  readonly #options: CommitWriterOptions
  readonly #fence: readonly Expect[]
  /** Refuses the commit if a stop request is stored. */
  readonly #notStopping: Expect

  constructor(options: CommitWriterOptions) {
    const { run, session } = options.claim
    this.#options = options
    this.#fence = [
      { that: 'session', id: session.id },
      { that: 'fence', runId: run.id, epoch: run.epoch },
    ]
    this.#notStopping = { that: 'run', runId: run.id, status: ['running'], notStopping: true }
  }

  /** Commits a draft. If a stop request, an input or the last answer was stored before it, queues the run instead of letting it wait. */
  async write(draft: CommitDraft, known = 0): Promise<Written> {
    const { records, writes, expect } = draft
    const suspends = isSuspension(records)
    const result = await this.#commit({ ...draft, expect: [...expect, ...this.#guard(records), ...(suspends ? nothingNew(known) : [])] })
    if (result.ok) return result
    if (result.reason === 'stopping') return this.#commit({ ...draft, writes: this.#meetStop(records, writes) }, true)
    if (!suspends || (result.reason !== 'inputs-waiting' && result.reason !== 'queue-full')) return result
    const { run, session } = this.#options.claim
    const answers = await readAnswers(this.#options.store, session.key)
    const waits = result.reason === 'queue-full' && !isAllAnswered(openQuestions({ id: run.id, ...questionsIn(records) }, answers))
    return waits ? this.write(draft, answers.length) : this.#commit({ ...draft, writes: goingOn(writes) }, false)
  }

  /** Commits the start of a subagent, unless the run is being stopped. */
  async start(deliver: readonly Delivery[], event: ChildStartEvent): Promise<CommitResult> {
    const { store, live, ids, claim } = this.#options
    const { key } = claim.session
    const expect = [...this.#fence, this.#notStopping]
    const result = await store.commit({
      id: ids.next('batch'),
      key,
      expect,
      writes: [{ op: 'event.append', events: [newEvent(event)] }],
      deliver,
    })
    if (result.ok) live.publish(key, numbered([event], result), true)
    if (!result.ok && result.reason === 'stopping') this.#stop()
    return result
  }

  async #commit({ records, expect, writes, spent }: CommitDraft, stopped = this.#options.claim.run.stop !== undefined): Promise<Written> {
    const { store, live, ids, claim } = this.#options
    const id = ids.next('batch')
    const deliver = await notifyParent(store, claim.run, { records, writes, spent, stopped, batchId: id })
    const result = await store.commit({ id, key: claim.session.key, expect: [...this.#fence, ...expect], writes, deliver })
    if (result.ok) for (const { to } of deliver) live.announce(to)
    return { ...result, ends: writes.some(endsRun) }
  }

  /**
   * Refuses commits that a stored stop request must prevent, such as the notification that a background child has ended. A run
   * claimed with a stop request already knows it.
   */
  #guard(records: readonly JournalRecord[]): readonly Expect[] {
    const { run } = this.#options.claim
    const isTask = run.parent?.taskId !== undefined
    if (run.stop || !records.some((record) => goesOn(record) || (isTask && isEnd(record)))) return []
    return [this.#notStopping]
  }

  /**
   * Aborts the loop before it acts on the commit, so that nothing starts. Queues a run that was about to wait, to be claimed and
   * ended.
   */
  #meetStop(records: readonly JournalRecord[], writes: readonly Write[]): readonly Write[] {
    if (records.some(isFirstStart)) throw new AgentError('journal-failed', 'The run was stopped before it started.')
    this.#stop()
    return goingOn(writes)
  }

  #stop(): void {
    this.#options.abort.abort({ kind: 'stop' } satisfies AbortCause)
  }
}
