import type { AgentEvent } from '@bowline/agent-loop'
import type { Clock } from '@bowline/llm'
import type { LiveLog, LiveSession } from './live-log.ts'
import { firstPage, nextPage, pollsOf } from './read-pace.ts'
import type { RemoteDeltas } from './remote-deltas.ts'
import { maxQueueBytes, type QueueItem, type ReaderQueue } from './reader-queue.ts'
import { printCursor, type Position } from '../contract/cursor.ts'
import { SessionError } from '../errors.ts'
import type { LoggedEvent, LogIterator } from '../contract/log-events.ts'
import type { EventPage, SessionStore } from '../contract/session-store.ts'
import type { StoredEvent } from '../contract/records.ts'

export interface LogReading {
  readonly store: SessionStore
  readonly liveLog: LiveLog
  readonly clock: Clock
  readonly key: string
  /** Where to begin; asked at the first read, and its failure is that of the read. */
  readonly from: () => Position | Promise<Position>
  /** Go on with what happens after the present end, or with the deltas of now alone. */
  readonly live: boolean | 'so-far'
  /** Give the events of this run only, and end where it rests and the log has no later event of it. */
  readonly runId?: string
  /** Whether the run waits or has ended in this moment. Says nothing about the place that the reader has reached. */
  readonly isResting: (runId: string) => Promise<boolean>
  /** This process has just queued the run: the log tells all that became of it since. */
  readonly isQueuedHere?: boolean
  /** Brings deltas that other processes have made. Absent if there are none. */
  readonly remote?: RemoteDeltas | undefined
  readonly abortSignal?: AbortSignal | undefined
  /** What may wait for this reader, before it is read from the store instead. */
  readonly bufferBytes?: number | undefined
}

/** One stream from any position: first the log, then what happens live, without a seam. */
export function readLog(reading: LogReading): LogIterator {
  const leaving = new AbortController()
  // Not `AbortSignal.any`: it is asked at every event, and a signal made of others is slow to answer.
  const leave = (): void => leaving.abort()
  reading.abortSignal?.addEventListener('abort', leave)
  if (reading.abortSignal?.aborted) leave()
  const forget = (): void => reading.abortSignal?.removeEventListener('abort', leave)
  const reader = new LogReader(reading, leaving.signal, forget)
  const events = reader.read()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => events.next(),
    take: () => reader.take(),
    // A generator that waits cannot be returned from: it has to be woken first.
    return: async () => {
      leave()
      forget()
      await events.return()
      return { done: true, value: undefined }
    },
  }
}

class LogReader {
  readonly #reading: LogReading
  readonly #signal: AbortSignal
  /** The last durable event seen. This and the count are known when reading begins. */
  #seq!: number
  /** Deltas seen since the active run's own last durable event, and the position at which that was true. */
  #n!: number
  #countedAt!: number
  #sessionId: string | undefined
  #ended = false
  /** Events that were read and not yielded yet. A yielded event is released. */
  #page: (StoredEvent | undefined)[] = []
  #place!: number
  /** Its `base`: the last durable event of the active run as far as this process knows it, whatever its type. */
  #live!: LiveSession
  /** What the reader follows live. */
  #queue: ReaderQueue | undefined
  /** The newest event that a run made. Runs follow each other: deltas from before it are void. */
  #newest = 0
  /** The run that is followed has made a durable event since the store was asked whether it rests. */
  #hasMoved!: boolean
  /** The last durable event of that run may be its last one; the store was not asked since. */
  #mayRest!: boolean
  /** By the last event that tells, a run is open: waiting holds the process. Undefined: not known yet. */
  #isBusy: boolean | undefined
  readonly #onEnd: () => void
  constructor(reading: LogReading, signal: AbortSignal, onEnd: () => void) {
    this.#reading = reading
    this.#signal = signal
    this.#onEnd = onEnd
  }

  async *read(): AsyncGenerator<LoggedEvent, void, undefined> {
    const { liveLog, key, from, isQueuedHere = false } = this.#reading
    const letGo = liveLog.hold(key)
    const session = (this.#live = liveLog.session(key))
    try {
      const position = await from()
      this.#seq = this.#countedAt = position.seq
      this.#n = position.n
      if (!this.#reading.live) return yield* this.#catchUp()
      for (let isOpen = isQueuedHere; !this.#signal.aborted; isOpen = false) {
        // Before the log is read: what happens from now on is in the queue.
        const queue = session.subscribe(session.base <= this.#countedAt ? this.#n : 0, this.#reading.bufferBytes)
        try {
          if ((yield* this.#readOn(session, queue, isOpen)) === 'ended') return
        } finally {
          session.unsubscribe(queue)
        }
      }
    } catch (error) {
      // The store may have been closed since.
      if (!this.#signal.aborted) throw error
    } finally {
      letGo()
      this.#onEnd()
    }
  }

  /** `behind`: more of the log must be read, or asked whether the run rests. `isOpen`: the run is known not to rest. */
  async *#readOn(session: LiveSession, queue: ReaderQueue, isOpen: boolean): AsyncGenerator<LoggedEvent, 'ended' | 'behind', undefined> {
    const { runId, isResting, live, store, clock } = this.#reading
    this.#mayRest = this.#hasMoved = false
    // Asked before the log is read: the run rests here only if the log has nothing of it beyond this place.
    const resting = runId !== undefined && !isOpen && (await isResting(runId))
    yield* this.#catchUp(() => session.unsubscribe(queue))
    await this.#fetchDeltas()
    if (this.#ended || this.#signal.aborted || (resting && !this.#hasMoved)) return 'ended'
    if (live === true) await this.#lookBack()
    // The run may rest by now.
    if (this.#mayRest || !session.reads(queue)) return 'behind'
    if (live === 'so-far') {
      yield* this.#deltasSoFar(queue)
      return 'ended'
    }
    const leave = queue.attend(this.#signal, clock, pollsOf(store))
    this.#queue = queue
    try {
      return yield* this.#followLive(queue)
    } finally {
      this.#queue = undefined
      leave()
    }
  }

  async *#deltasSoFar(queue: ReaderQueue): AsyncGenerator<LoggedEvent, void, undefined> {
    await this.#findNewest(queue)
    for (;;) {
      for (let delta = this.#nextDelta(queue); delta; delta = this.#nextDelta(queue)) yield delta
      const next = queue.head
      // The queue also holds events that were read from the log.
      if (next?.kind !== 'durable' || next.seq > this.#seq) return
      queue.shift()
    }
  }

  take(): LoggedEvent | undefined {
    if (this.#signal.aborted) return undefined
    if (!this.#queue) return this.#nextOfPage()
    return this.#isUnsure(this.#queue) ? undefined : this.#nextDelta(this.#queue)
  }

  /** `onMore` is called before the first event is given if these are not all: reading the rest may take long. */
  async *#catchUp(onMore?: () => void): AsyncGenerator<LoggedEvent, void, undefined> {
    for (let limit = firstPage; ; ) {
      const page = await this.#readPage(limit)
      if (page.last) {
        yield page.last
        return
      }
      if ((this.#page.at(-1)?.seq ?? this.#seq) < page.lastSeq) onMore?.()
      for (let event = this.#nextOfPage(); event && !this.#signal.aborted; event = this.#nextOfPage()) yield event
      this.#page = []
      if (this.#signal.aborted || this.#ended || this.#seq >= page.lastSeq) return
      limit = page.limit
    }
  }

  /** Keeps the events in `#page` alone, which lets go of each one when it is given: a reader may take its time. */
  async #readPage(limit: number): Promise<{ readonly lastSeq: number; readonly limit: number; readonly last?: LoggedEvent }> {
    const { store, key, bufferBytes = maxQueueBytes } = this.#reading
    const page = await store.readEvents(key, this.#seq, limit)
    const { firstSeq, lastSeq } = page
    if (this.#hasEnded(page)) return { lastSeq, limit, last: this.#lastEvent(page) }
    this.#checkReach(firstSeq, lastSeq)
    this.#page = [...page.events]
    this.#place = 0
    return { lastSeq, limit: nextPage(limit, page.events, bufferBytes) }
  }

  #nextOfPage(): LoggedEvent | undefined {
    for (let event = this.#page[this.#place]; event && !this.#ended; event = this.#page[this.#place]) {
      this.#page[this.#place++] = undefined
      this.#count(event, event.seq)
      const logged: LoggedEvent = { ...event, cursor: printCursor(event.seq, this.#n) }
      this.#pass(logged, event.seq)
      this.#ended = event.type === 'session-end'
      if (this.#concerns(logged)) return logged
    }
    return undefined
  }

  async *#followLive(queue: ReaderQueue): AsyncGenerator<LoggedEvent, 'ended' | 'behind', undefined> {
    while (!this.#signal.aborted) {
      await this.#findNewest(queue)
      const delta = this.#nextDelta(queue)
      if (delta) {
        yield delta
        continue
      }
      const early = queue.head
      if (early?.kind === 'delta') {
        // Its message begins with an event that this process did not publish.
        yield* this.#fillGap(early.base + 1)
        if (this.#ended) return 'ended'
        if (this.#seq < early.base) return 'behind'
        continue
      }
      const item = queue.shift()
      if (item?.kind !== 'durable') {
        if (queue.overflowed || queue.outdated || this.#mayRest) return 'behind'
        if ((await queue.wait(this.#signal, this.#isBusy === true)) && (await this.#isBehind())) return 'behind'
        continue
      }
      const { event, seq } = item
      const isOver = item.endedRun !== undefined && item.endedRun === this.#reading.runId
      // A slow reader may have more events of subagents to read after the end of its run.
      const end = (): 'ended' | 'behind' => (queue.outdated || queue.head ? 'behind' : 'ended')
      if (seq <= this.#seq && isOver) return end()
      if (seq <= this.#seq) continue
      if (seq > this.#seq + 1) {
        yield* this.#fillGap(seq)
        if (this.#ended) return 'ended'
        if (seq > this.#seq + 1) return 'behind'
      }
      this.#count(event, seq)
      this.#pass(event, seq)
      if (this.#concerns(event)) yield event
      if (isOver || event.type === 'session-end') return isOver ? end() : 'ended'
    }
    return 'ended'
  }

  /** Gives what other writers have stored before the event `seq`, which is next in the queue, and keeps the queue. */
  async *#fillGap(seq: number): AsyncGenerator<LoggedEvent, void, undefined> {
    const queue = this.#queue
    this.#queue = undefined
    while (this.#seq + 1 < seq && !this.#signal.aborted && !this.#ended) {
      const before = this.#seq
      const { last } = await this.#readPage(Math.min(firstPage, seq - 1 - before))
      if (last) yield last
      for (let event = this.#nextOfPage(); event && !this.#signal.aborted; event = this.#nextOfPage()) yield event
      this.#page = []
      if (this.#seq === before) break
    }
    this.#queue = queue
  }

  /** The next delta is from before the place where this reader began, and may be from before an event of a run. */
  #isUnsure({ head }: ReaderQueue): boolean {
    return head?.kind === 'delta' && this.#newest === 0 && head.base < this.#seq
  }

  /** Reads back to the newest event of a run where the next delta depends on it. */
  async #findNewest(queue: ReaderQueue): Promise<void> {
    const { store, key } = this.#reading
    for (let place = this.#seq; this.#isUnsure(queue); place--) {
      const [event] = (await store.readEvents(key, place - 1, 1)).events
      if (!event || isOfRun(event) || place === 1) this.#newest = place
    }
  }

  /** The next delta to give; undefined when something else comes before it. */
  #nextDelta(queue: ReaderQueue): LoggedEvent | undefined {
    for (let item = queue.head; item?.kind === 'delta' && item.base <= this.#seq; item = queue.head) {
      queue.shift()
      if (this.#isVoid(item) || this.#wasSeen(item)) continue
      this.#n = item.n
      this.#countedAt = this.#seq
      if (!this.#concerns(item.event)) continue
      // Positions never go back within a stream: this reader may have read events that this process did not publish.
      return item.seq < this.#seq ? { ...item.event, cursor: printCursor(this.#seq, item.n) } : item.event
    }
    return undefined
  }

  /** Also when the run that is followed came to rest in another process, without an event. */
  async #isBehind(): Promise<boolean> {
    const { store, key, runId, isResting } = this.#reading
    await this.#fetchDeltas()
    const page = await store.readEvents(key, this.#seq, 1)
    if (page.lastSeq > this.#seq || page.sessionId !== this.#sessionId) return true
    return runId !== undefined && isResting(runId)
  }

  async #fetchDeltas(): Promise<void> {
    const { remote, key } = this.#reading
    await remote?.fetch(key)
  }

  /** An event of the run that is active voids the deltas before it. */
  #count(event: AgentEvent, seq: number): void {
    if (isOfRun(event) || seq <= this.#live.base) this.#n = 0
  }

  #pass(event: LoggedEvent, seq: number): void {
    this.#seq = seq
    this.#noteBusy(event)
    if (isOfRun(event)) this.#newest = seq
    if (!('runId' in event) || event.runId !== this.#reading.runId || isOfSubagent(event)) return
    this.#hasMoved = true
    this.#mayRest = canBeLast(event)
  }

  #noteBusy(event: AgentEvent): void {
    if (event.type === 'settled' || event.type === 'session-start') this.#isBusy = false
    else if (event.type === 'run-queued' || ('turn' in event && !isOfSubagent(event))) this.#isBusy = true
  }

  /** Reads the last event before this place that tells whether a run is open, unless an event has told it. */
  async #lookBack(): Promise<void> {
    const { store, key } = this.#reading
    for (let place = this.#seq; place > 0 && this.#isBusy === undefined; place--) {
      const [event] = (await store.readEvents(key, place - 1, 1)).events
      if (!event) break
      this.#noteBusy(event)
    }
    this.#isBusy ??= false
  }

  /** The store may give an event before this process has published it; deltas from before it may come after it then. */
  #isVoid({ base }: Extract<QueueItem, { kind: 'delta' }>): boolean {
    return base < this.#newest
  }

  /** Deltas that other processes have made come from their beginning on. */
  #wasSeen({ base, n }: Extract<QueueItem, { kind: 'delta' }>): boolean {
    return base <= this.#countedAt && n <= this.#n
  }

  #concerns(event: LoggedEvent): boolean {
    const { runId } = this.#reading
    if (runId === undefined) return true
    // That nothing is queued any more is said of the session; the events of a run end with its save-point.
    return 'runId' in event && event.runId === runId && event.type !== 'settled'
  }

  /** The session was deleted since the reader came, whether there is another one under its key or not. */
  #hasEnded({ sessionId, deletedAt }: EventPage): boolean {
    this.#sessionId ??= sessionId
    return (this.#ended = deletedAt !== undefined || sessionId !== this.#sessionId)
  }

  #lastEvent({ deletedAt }: EventPage): LoggedEvent {
    const { key, clock } = this.#reading
    const seq = this.#seq + 1
    return { type: 'session-end', at: deletedAt ?? clock.now(), sessionKey: key, reason: 'deleted', seq, commit: {}, cursor: printCursor(seq) }
  }

  #checkReach(firstSeq: number, lastSeq: number): void {
    if (this.#seq > lastSeq) {
      throw new SessionError('cursor-ahead', `The log ends at ${lastSeq}; the cursor names ${this.#seq}.`)
    }
    if (this.#seq + 1 < firstSeq) {
      throw new SessionError('cursor-expired', `The log begins at ${firstSeq}: load the transcript and go on from there.`, {
        firstSeq,
      })
    }
  }
}

/**
 * Made by a run of this session that has begun. Subagents and other writers void no deltas, and one of these is the caller that
 * stops a run which never began: the turn of such a run has no number.
 */
function isOfRun(event: AgentEvent): event is Extract<AgentEvent, { turn: number }> {
  return 'turn' in event && event.turn > 0 && !isOfSubagent(event)
}

/** Delivered by the run of a subagent: in the background it tells the root what it asks, and why it is held. */
function isOfSubagent(event: AgentEvent): boolean {
  switch (event.type) {
    case 'child-update':
    case 'child-end':
      return true
    case 'awaiting-tools':
    case 'approval-requested':
    case 'approval-resolved':
      return event.background !== undefined
    case 'error':
      return event.path !== undefined
    default:
      return false
  }
}

/** A run that never started ends with its turn, a compaction with `settled`. */
function canBeLast({ type }: AgentEvent): boolean {
  return type === 'turn-end' || type === 'save-point' || type === 'settled'
}
