import type { DeltaEvent } from '@bowline/agent-loop'
import type { DeltaBatch, DeltaPlace, EventPage } from '../contract/session-store.ts'
import type { StoredEvent } from '../contract/records.ts'
import type { LoggedEvent } from '../contract/log-events.ts'
import { BlockCounts, printCursor } from '../contract/cursor.ts'
import { deltaBytes, durableBytes } from './event-bytes.ts'
import { QuietPoll } from './quiet-poll.ts'
import { ReaderQueue } from './reader-queue.ts'

const ringBytes = 1024 * 1024

/** Called with the runs that may have come to rest; undefined: any. */
type Watcher = (runIds: readonly string[] | undefined) => void

/**
 * Live state of one session: the deltas since the active run's own last durable event, kept for readers that reconnect, and the
 * present readers. Events of other writers do not reset the count of the deltas.
 */
export class LiveSession {
  /** Number of the newest durable event that this process published. */
  lastSeq = 0
  /** Number of the active run's own last durable event. The deltas in the ring follow it. */
  base = 0
  readonly poll = new QuietPoll()
  readonly #readers = new Set<ReaderQueue>()
  readonly #watchers = new Set<Watcher>()
  #ring: { readonly event: LoggedEvent; readonly seq: number; readonly had: string }[] = []
  /** Characters of the open answer in the deltas so far. */
  #counts = new BlockCounts()
  #ringBytes = 0
  /** Reads of the log under way that are as new as what this process was told. */
  #reads = new Map<string, Promise<EventPage>>()
  /** Number of deltas since `base` that the ring has dropped. */
  #dropped = 0
  /** True if the store has the deltas of the ring too. */
  #isRemote = false

  /** Publishes the events of one commit. `ofRun`: the active run made them, so they contain or void its deltas so far. */
  publishDurable(events: readonly StoredEvent[], ofRun: boolean, endedRun?: string): void {
    this.#reads = new Map()
    this.poll.published += 1
    const n = ofRun ? 0 : this.#count
    if (events.some(({ type }) => type.startsWith('message-'))) this.#counts = new BlockCounts()
    const had = this.#counts.toString()
    const newest = events.at(-1)
    for (const event of events) {
      this.lastSeq = Math.max(this.lastSeq, event.seq)
      const logged: LoggedEvent = Object.freeze({ ...event, cursor: printCursor(event.seq, n, had) })
      if (this.#readers.size === 0) continue
      const bytes = durableBytes(event)
      for (const reader of this.#readers) reader.pushDurable(logged, event.seq, bytes, event === newest ? endedRun : undefined)
    }
    if (ofRun && newest) this.#beginStretch(newest.seq)
    const rested = events.flatMap((event) => (event.type === 'turn-end' ? [event.runId] : []))
    if (rested.length > 0) this.#tellWatchers(rested)
  }

  /** Notifies readers of a change without an event: of this run, or of any. */
  announce(runId?: string): void {
    this.#reads = new Map()
    for (const reader of this.#readers) reader.lookUp()
    this.#tellWatchers(runId === undefined ? undefined : [runId])
  }

  /** Joins a read of the log under the same name, unless a change was published or announced since it began. */
  share(name: string, read: () => Promise<EventPage>): Promise<EventPage> {
    const reads = this.#reads
    const shared = reads.get(name) ?? read().finally(() => reads.delete(name))
    reads.set(name, shared)
    return shared
  }

  /** Publishes a delta and returns its place. */
  publishDelta(event: DeltaEvent): DeltaPlace {
    this.poll.published += 1
    const place = { seq: this.lastSeq, base: this.base, n: this.#count + 1 }
    this.#counts.add(event)
    const had = this.#counts.toString()
    const logged: LoggedEvent = Object.freeze({ ...event, cursor: printCursor(place.seq, place.n, had) })
    const bytes = deltaBytes(event)
    this.#ring.push({ event: logged, seq: place.seq, had })
    this.#ringBytes += bytes
    // Drops half of the ring at once, so that the cost per delta does not grow with the message.
    if (this.#ringBytes > ringBytes) this.#dropOldest()
    for (const reader of this.#readers) reader.pushDelta(logged, { ...place, had }, bytes)
    return place
  }

  /** Publishes deltas of another process. Skips known ones, and drops those after a gap. */
  publishRemote({ base, n, events }: DeltaBatch): void {
    if (base < this.base) return
    if (base > this.base) {
      this.#beginStretch(base)
      this.#counts = new BlockCounts()
    }
    this.lastSeq = Math.max(this.lastSeq, base)
    if (n > this.#count + 1) return
    for (const event of events.slice(this.#count + 1 - n)) this.publishDelta(event)
    this.#isRemote = true
  }

  #beginStretch(base: number): void {
    this.base = base
    this.#ring = []
    this.#ringBytes = 0
    this.#dropped = 0
    this.#isRemote = false
  }

  /** Place after the newest known delta. */
  get place(): DeltaPlace {
    return { base: this.base, n: this.#count }
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0
  }

  /**
   * Subscribes from the delta after `n`. If the ring has dropped that delta, skips all deltas since `base`: a durable event that
   * replaces them follows.
   */
  subscribe(n: number, maxBytes?: number, runId?: string): ReaderQueue {
    const inReach = n >= this.#dropped
    const queue = new ReaderQueue(inReach ? undefined : this.base, maxBytes, runId)
    if (inReach) {
      for (let index = n - this.#dropped; index < this.#ring.length; index++) {
        const kept = this.#ring[index]
        if (kept) queue.pushDelta(kept.event, { seq: kept.seq, base: this.base, n: this.#dropped + index + 1, had: kept.had }, 0)
      }
    }
    this.#readers.add(queue)
    return queue
  }

  /** Drops the deltas of an interrupted run: they are void, or the next process produces them again. */
  dropDeltasOf(runId: string): void {
    const [oldest] = this.#ring
    if (!oldest || !('runId' in oldest.event) || oldest.event.runId !== runId) return
    this.#dropped += this.#ring.length
    this.#ring = []
    this.#ringBytes = 0
  }

  reads(queue: ReaderQueue): boolean {
    return this.#readers.has(queue)
  }

  unsubscribe(queue: ReaderQueue): void {
    this.#readers.delete(queue)
  }

  /** Calls `watcher` when runs may have come to rest. Returns an unsubscribe function. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Number of deltas since `base`. */
  get #count(): number {
    return this.#dropped + this.#ring.length
  }

  get idle(): boolean {
    return this.#readers.size === 0 && this.#watchers.size === 0 && (this.#ring.length === 0 || this.#isRemote)
  }

  #tellWatchers(runIds: readonly string[] | undefined): void {
    for (const watcher of this.#watchers) watcher(runIds)
  }

  #dropOldest(): void {
    const kept = this.#ring.slice(Math.ceil(this.#ring.length / 2))
    this.#dropped += this.#ring.length - kept.length
    this.#ring = kept
    this.#ringBytes = kept.reduce((sum, { event }) => sum + deltaBytes(event), 0)
  }
}

/** Live sessions of one process, by key. Unused ones are removed. */
export class LiveLog {
  readonly #sessions = new Map<string, LiveSession>()

  /** Returns the session if it is held here. */
  held(key: string): LiveSession | undefined {
    return this.#sessions.get(key)
  }

  session(key: string): LiveSession {
    let session = this.#sessions.get(key)
    if (!session) {
      session = new LiveSession()
      this.#sessions.set(key, session)
    }
    return session
  }

  /** Publishes the events of one commit. `endedRun` is the run that has ended in it. */
  publish(key: string, events: readonly StoredEvent[], ofRun: boolean, endedRun?: string): void {
    if (events.length === 0) return
    this.session(key).publishDurable(events, ofRun, endedRun)
    this.#release(key)
  }

  /** Signals that this run, or any, came to rest without an event. */
  announce(key: string, runId?: string): void {
    this.#sessions.get(key)?.announce(runId)
  }

  /** Signals that something may have changed in any session. */
  announceAll(): void {
    for (const session of [...this.#sessions.values()]) session.announce()
  }

  /**
   * Keeps the session while it has a reader, a waiter or a run, because its deltas are counted here. Returns a release function.
   */
  hold(key: string, watcher: Watcher = () => undefined): () => void {
    const unwatch = this.session(key).watch(watcher)
    return () => {
      unwatch()
      this.#release(key)
    }
  }

  /** Must be called when an execution in this process is over. */
  endRun(key: string, runId: string): void {
    this.#sessions.get(key)?.dropDeltasOf(runId)
    this.#release(key)
  }

  #release(key: string): void {
    if (this.#sessions.get(key)?.idle) this.#sessions.delete(key)
  }
}
