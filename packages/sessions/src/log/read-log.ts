import type { AgentEvent } from '@bowline/agent-loop'
import { missingDeltas } from '@bowline/agent-loop/events'
import type { Clock } from '@bowline/llm'
import { canBeLast, isOfRun, isOfSubagent } from './kinds-of-events.ts'
import type { LiveLog, LiveSession } from './live-log.ts'
import { firstPage, nextPage, pollsOf } from './read-pace.ts'
import type { RemoteDeltas } from './remote-deltas.ts'
import { maxQueueBytes, type QueueItem, type ReaderQueue } from './reader-queue.ts'
import { charactersHad, checkReach, printCursor, type Position } from '../contract/cursor.ts'
import type { LoggedEvent, LogIterator } from '../contract/log-events.ts'
import type { EventPage, SessionStore } from '../contract/session-store.ts'
import type { StoredEvent } from '../contract/records.ts'

export interface LogReading {
  readonly store: SessionStore
  readonly liveLog: LiveLog
  readonly clock: Clock
  readonly key: string
  /** Returns the start position. Called at the first read, which fails if this fails. */
  readonly from: () => Position | Promise<Position>
  /** True follows the session live. `so-far` ends after the present deltas. */
  readonly live: boolean | 'so-far'
  /** Yields the events of this run only, and ends once it rests and the log has no later event of it. */
  readonly runId?: string
  /** Returns true if the run waits or has ended now, independent of the reader's position. */
  readonly isResting: (runId: string, signal: AbortSignal) => Promise<boolean>
  /** True if this process has just queued the run: then the log has everything that happened to it since. */
  readonly isQueuedHere?: boolean
  /** Fetches deltas of other processes. Absent if there are none. */
  readonly remote?: RemoteDeltas | undefined
  readonly abortSignal?: AbortSignal | undefined
  /** Bytes to buffer for this reader. If they are exceeded, it reads the store instead. */
  readonly bufferBytes?: number | undefined
}

/** Creates one stream from any position: first the log, then live events, without a gap. */
export function readLog(reading: LogReading): LogIterator {
  const reader = new LogReader(reading)
  const events = reader.read()
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => events.next(),
    take: () => reader.take(),
    // A waiting generator cannot be returned from, so it is woken first.
    return: () => {
      reader.leave()
      return events.return()
    },
  }
}

class LogReader {
  readonly #reading: LogReading
  /** True once the caller has left. A field, since it is read at every event. */
  #hasLeft = false
  readonly #leaving = new AbortController()
  /** Number of the last durable event seen. Set, like the count, when reading starts. */
  #seq!: number
  /** Number of deltas seen since the active run's own last durable event, and the position of that count. */
  #n!: number
  #countedAt!: number
  /** Characters of the open answer that were seen, as a cursor prints them. */
  #had!: string
  #sessionId: string | undefined
  #ended = false
  /** Events that were read and not yielded yet. A yielded event is released. */
  #page: (StoredEvent | undefined)[] = []
  #place!: number
  /** Its `base` is the last durable event of the active run that this process knows, whatever its type. */
  #live!: LiveSession
  /** Queue of live events. */
  #queue: ReaderQueue | undefined
  /** Number of the newest event of a run. Runs follow each other, so deltas from before it are void. */
  #newest = 0
  /** True if the followed run has stored an event since the store was asked whether it rests. */
  #hasMoved!: boolean
  /** True if the last durable event of that run may be its final one, and the store was not asked since. */
  #mayRest!: boolean
  /** True if, by the log, a run is open: waiting then keeps the process alive. Undefined: not known yet. */
  #isBusy: boolean | undefined

  constructor(reading: LogReading) {
    this.#reading = reading
    reading.abortSignal?.addEventListener('abort', this.leave)
    if (reading.abortSignal?.aborted) this.leave()
  }

  /** Ends the reading, also while it waits. */
  readonly leave = (): void => {
    this.#hasLeft = true
    this.#leaving.abort()
    this.#queue?.lookUp()
    this.#reading.abortSignal?.removeEventListener('abort', this.leave)
  }

  async *read(): AsyncGenerator<LoggedEvent, void, undefined> {
    const { liveLog, key, runId, from, isQueuedHere = false, bufferBytes } = this.#reading
    const letGo = liveLog.hold(key)
    const session = (this.#live = liveLog.session(key))
    try {
      const position = await from()
      this.#seq = this.#countedAt = position.seq
      this.#n = position.n
      this.#had = position.had ?? ''
      if (!this.#reading.live) return yield* this.#catchUp()
      for (let isOpen = isQueuedHere; !this.#hasLeft; isOpen = false) {
        // Subscribes before it reads the log, so that no later event is missed.
        const queue = session.subscribe(session.base <= this.#countedAt ? this.#n : 0, bufferBytes, runId)
        try {
          if ((yield* this.#readOn(session, queue, isOpen)) === 'ended') return
        } finally {
          session.unsubscribe(queue)
        }
      }
    } catch (error) {
      // Ignored after an abort: the store may have been closed.
      if (!this.#hasLeft) throw error
    } finally {
      letGo()
      this.leave()
    }
  }

  /** Returns `behind` if the log must be read on or the run's rest checked. `isOpen`: the run is known not to rest. */
  async *#readOn(session: LiveSession, queue: ReaderQueue, isOpen: boolean): AsyncGenerator<LoggedEvent, 'ended' | 'behind', undefined> {
    const { runId, isResting, live, store, clock } = this.#reading
    this.#mayRest = this.#hasMoved = false
    // Asked before the log is read: the run rests at this place only if the log has no later event of it.
    const resting = runId !== undefined && !isOpen && (await isResting(runId, this.#leaving.signal))
    yield* this.#catchUp(() => session.unsubscribe(queue))
    await this.#fetchDeltas()
    if (this.#ended || this.#hasLeft || (resting && !this.#hasMoved)) return 'ended'
    if (live === true) await this.#lookBack()
    // The run may have come to rest.
    if (this.#mayRest || !session.reads(queue)) return 'behind'
    if (live === 'so-far') {
      yield* this.#deltasSoFar(queue)
      return 'ended'
    }
    const leave = session.poll.attend(queue, clock, pollsOf(store))
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
      // The queue also holds events that were already read from the log.
      if (next?.kind !== 'durable' || next.seq > this.#seq) return
      queue.shift()
    }
  }

  take(): LoggedEvent | undefined {
    if (this.#hasLeft) return undefined
    if (!this.#queue) return this.#nextOfPage()
    return this.#isUnsure(this.#queue) ? undefined : this.#nextDelta(this.#queue)
  }

  /** Calls `onMore` before the first event unless these are all, since reading the rest may take long. */
  async *#catchUp(onMore?: () => void): AsyncGenerator<LoggedEvent, void, undefined> {
    for (let limit = firstPage; ;) {
      const page = await this.#readPage(limit)
      if (page.last) {
        yield page.last
        return
      }
      if ((this.#page.at(-1)?.seq ?? this.#seq) < page.lastSeq) onMore?.()
      for (let event = this.#nextOfPage(); event; event = this.#nextOfPage()) yield event
      this.#page = []
      if (this.#hasLeft || this.#ended || this.#seq >= page.lastSeq) return
      limit = page.limit
    }
  }

  /** Keeps the events only in `#page`, which releases each one when it is yielded: a slow reader holds few. */
  async #readPage(limit: number): Promise<{ readonly lastSeq: number; readonly limit: number; readonly last?: LoggedEvent }> {
    const { bufferBytes = maxQueueBytes } = this.#reading
    const page = await this.#readEvents(this.#seq, limit)
    const { firstSeq, lastSeq } = page
    if (this.#hasEnded(page)) return { lastSeq, limit, last: this.#lastEvent(page) }
    checkReach(this.#seq, firstSeq, lastSeq)
    this.#page = [...page.events]
    this.#place = 0
    return { lastSeq, limit: nextPage(limit, page.events, bufferBytes) }
  }

  #nextOfPage(): LoggedEvent | undefined {
    for (let event = this.#page[this.#place]; event && !this.#ended && !this.#hasLeft; event = this.#page[this.#place]) {
      const missing = this.#missingBefore(event)
      if (missing) return missing
      this.#page[this.#place++] = undefined
      this.#count(event, event.seq)
      const logged: LoggedEvent = { ...event, cursor: printCursor(event.seq, this.#n, this.#had) }
      this.#pass(logged, event.seq)
      this.#ended = event.type === 'session-end'
      if (this.#concerns(logged)) return logged
    }
    return undefined
  }

  async *#followLive(queue: ReaderQueue): AsyncGenerator<LoggedEvent, 'ended' | 'behind', undefined> {
    const { clock } = this.#reading
    while (!this.#hasLeft) {
      await this.#findNewest(queue)
      const delta = this.#nextDelta(queue)
      if (delta) {
        yield delta
        continue
      }
      const early = queue.head
      if (early?.kind === 'delta') {
        // Its message starts with an event that another process published.
        yield* this.#fillGap(early.base + 1)
        if (this.#ended) return 'ended'
        if (this.#seq < early.base) return 'behind'
        continue
      }
      const item = queue.shift()
      if (item?.kind !== 'durable') {
        if (queue.overflowed || queue.outdated || this.#mayRest) return 'behind'
        if ((await queue.wait(this.#isBusy ? clock : undefined)) && (await this.#isBehind())) return 'behind'
        continue
      }
      const { event, seq } = item
      const isOver = item.endedRun !== undefined && item.endedRun === this.#reading.runId
      // After the end of its run, a slow reader may still have events of subagents to read.
      const end = (): 'ended' | 'behind' => (queue.outdated || queue.head ? 'behind' : 'ended')
      if (seq <= this.#seq && isOver) return end()
      if (seq <= this.#seq) continue
      if (seq > this.#seq + 1) {
        yield* this.#fillGap(seq)
        if (this.#ended) return 'ended'
        if (seq > this.#seq + 1) return 'behind'
      }
      for (let missing = this.#missingBefore(event); missing; missing = this.#missingBefore(event)) yield missing
      this.#count(event, seq)
      this.#pass(event, seq)
      if (this.#concerns(event)) yield event
      if (isOver || event.type === 'session-end') return isOver ? end() : 'ended'
    }
    return 'ended'
  }

  /** Yields the events of other writers before `seq`, which is next in the queue. Keeps the queue. */
  async *#fillGap(seq: number): AsyncGenerator<LoggedEvent, void, undefined> {
    const queue = this.#queue
    this.#queue = undefined
    while (this.#seq + 1 < seq && !this.#hasLeft && !this.#ended) {
      const before = this.#seq
      const { last } = await this.#readPage(Math.min(firstPage, seq - 1 - before))
      if (last) yield last
      for (let event = this.#nextOfPage(); event; event = this.#nextOfPage()) yield event
      this.#page = []
      if (this.#seq === before) break
    }
    this.#queue = queue
  }

  /** True if the next delta is older than this reader's start and may be void because of a later event. */
  #isUnsure({ head }: ReaderQueue): boolean {
    return head?.kind === 'delta' && this.#newest === 0 && head.base < this.#seq
  }

  /** Reads back to the newest event of a run if the next delta depends on it. */
  async #findNewest(queue: ReaderQueue): Promise<void> {
    for (let place = this.#seq; this.#isUnsure(queue); place--) {
      const [event] = (await this.#readEvents(place - 1, 1)).events
      if (!event || isOfRun(event) || place === 1) this.#newest = place
    }
  }

  /** Returns the next delta, or undefined if something else precedes it. */
  #nextDelta(queue: ReaderQueue): LoggedEvent | undefined {
    for (let item = queue.head; item?.kind === 'delta' && item.base <= this.#seq; item = queue.head) {
      queue.shift()
      if (this.#isVoid(item) || this.#wasSeen(item)) continue
      this.#n = item.n
      this.#had = item.had
      this.#countedAt = this.#seq
      if (!this.#concerns(item.event)) continue
      // Positions never go back within a stream: this reader may have read events that this process did not publish.
      return item.seq < this.#seq ? { ...item.event, cursor: printCursor(this.#seq, item.n, item.had) } : item.event
    }
    return undefined
  }

  /** True if the log has more, or the followed run came to rest in another process without an event. */
  async #isBehind(): Promise<boolean> {
    const { runId, isResting } = this.#reading
    await this.#fetchDeltas()
    const page = await this.#readEvents(this.#seq, 1)
    if (page.lastSeq > this.#seq || page.sessionId !== this.#sessionId) return true
    return runId !== undefined && isResting(runId, this.#leaving.signal)
  }

  /** Reads the log after a place. Readers at the same place share the read. */
  #readEvents(after: number, limit: number): Promise<EventPage> {
    const { store, key } = this.#reading
    return this.#live.share(`${after} ${limit}`, () => store.readEvents(key, after, limit))
  }

  async #fetchDeltas(): Promise<void> {
    const { remote, key } = this.#reading
    await remote?.fetch(key)
  }

  /**
   * Returns what this reader lacks of an answer that this event ends, one block after the other. Its position counts it as one more
   * delta: a reader that continues from there reads the event from the store, which voids the deltas before it.
   */
  #missingBefore(event: AgentEvent): LoggedEvent | undefined {
    if (event.type !== 'message-end' || !this.#reading.live || !this.#concerns(event)) return undefined
    const had = charactersHad(this.#had)
    const [missing] = missingDeltas(event, had)
    if (!missing) return undefined
    const { index, delta } = missing
    // Blocks with a smaller index are complete now. Of later ones, this reader may have had a part.
    const later = had.flatMap((count = 0, place) => (place > index && count !== Infinity ? `.${place}-${count}` : []))
    this.#had = `.${index}-${(had[index] ?? 0) + delta.length}${later.join('')}`
    this.#n += 1
    this.#countedAt = this.#seq
    return { ...missing, cursor: printCursor(this.#seq, this.#n, this.#had) }
  }

  /**
   * Resets the count of deltas: an event of the active run voids the earlier ones. What a reader has had of an open answer counts
   * until the run itself says more.
   */
  #count(event: AgentEvent, seq: number): void {
    if (isOfRun(event)) this.#had = ''
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

  /** Reads back to the last event that shows whether a run is open, unless one was seen already. */
  async #lookBack(): Promise<void> {
    for (let place = this.#seq; place > 0 && this.#isBusy === undefined; place--) {
      const [event] = (await this.#readEvents(place - 1, 1)).events
      if (!event) break
      this.#noteBusy(event)
    }
    this.#isBusy ??= false
  }

  /** True if an event of a run voids the delta. The store may return it before it is published, so older deltas may follow it. */
  #isVoid({ base }: Extract<QueueItem, { kind: 'delta' }>): boolean {
    return base < this.#newest
  }

  /** True if the delta was yielded before. Deltas of other processes are sent again from their start. */
  #wasSeen({ base, n }: Extract<QueueItem, { kind: 'delta' }>): boolean {
    return base <= this.#countedAt && n <= this.#n
  }

  #concerns(event: AgentEvent): boolean {
    const { runId } = this.#reading
    if (runId === undefined) return true
    // `settled` concerns the session. The events of a run end with its save-point.
    return 'runId' in event && event.runId === runId && event.type !== 'settled'
  }

  /** True if the session was deleted since the reader started, even if a new one uses its key. */
  #hasEnded({ sessionId, deletedAt }: EventPage): boolean {
    this.#sessionId ??= sessionId
    return (this.#ended = deletedAt !== undefined || sessionId !== this.#sessionId)
  }

  #lastEvent({ deletedAt }: EventPage): LoggedEvent {
    const { key, clock } = this.#reading
    const seq = this.#seq + 1
    return {
      type: 'session-end',
      at: deletedAt ?? clock.now(),
      sessionKey: key,
      reason: 'deleted',
      seq,
      commit: {},
      cursor: printCursor(seq),
    }
  }
}
