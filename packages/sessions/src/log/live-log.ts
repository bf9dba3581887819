import type { DeltaEvent } from '@bowline/agent-loop'
import type { DeltaBatch, DeltaPlace } from '../contract/session-store.ts'
import type { StoredEvent } from '../contract/records.ts'
import type { LoggedEvent } from '../contract/log-events.ts'
import { printCursor } from '../contract/cursor.ts'
import { deltaBytes, durableBytes } from './event-bytes.ts'
import { ReaderQueue } from './reader-queue.ts'

const ringBytes = 1024 * 1024

/**
 * What is going on in one session right now: the deltas since the active run's own last durable event, kept for readers
 * that come back, and the readers that listen. Events of other writers do not disturb the count of the deltas.
 */
export class LiveSession {
  /** The newest durable event that this process published. */
  lastSeq = 0
  /** The active run's own last durable event: the deltas in the ring follow it. */
  base = 0
  readonly #readers = new Set<ReaderQueue>()
  readonly #watchers = new Set<() => void>()
  #ring: { readonly event: LoggedEvent; readonly seq: number }[] = []
  #ringBytes = 0
  /** Deltas that the ring had to let go since `base`. */
  #dropped = 0
  /** The ring holds what the store has too. */
  #isRemote = false

  /** Events of one commit. `ofRun`: the active run made them, so its deltas so far are contained in them or void. */
  publishDurable(events: readonly StoredEvent[], ofRun: boolean, endedRun?: string): void {
    const n = ofRun ? 0 : this.#count
    const newest = events.at(-1)
    for (const event of events) {
      this.lastSeq = Math.max(this.lastSeq, event.seq)
      const logged: LoggedEvent = Object.freeze({ ...event, cursor: printCursor(event.seq, n) })
      if (this.#readers.size === 0) continue
      const bytes = durableBytes(event)
      for (const reader of this.#readers) reader.pushDurable(logged, event.seq, bytes, event === newest ? endedRun : undefined)
    }
    if (ofRun && newest) this.#beginStretch(newest.seq)
    if (events.some(({ type }) => type === 'turn-end')) this.#tellWatchers()
  }

  /** Something has changed that is no event. */
  announce(): void {
    for (const reader of this.#readers) reader.lookUp()
    this.#tellWatchers()
  }

  /** Returns the place of the delta. */
  publishDelta(event: DeltaEvent): DeltaPlace {
    const place = { seq: this.lastSeq, base: this.base, n: this.#count + 1 }
    const logged: LoggedEvent = Object.freeze({ ...event, cursor: printCursor(place.seq, place.n) })
    const bytes = deltaBytes(event)
    this.#ring.push({ event: logged, seq: place.seq })
    this.#ringBytes += bytes
    // Half of the ring goes at once, so that a long message costs the same per delta as a short one.
    if (this.#ringBytes > ringBytes) this.#dropOldest()
    for (const reader of this.#readers) reader.pushDelta(logged, place, bytes)
    return place
  }

  /** Deltas that another process has made. Those that are known are left out; what follows a gap is too. */
  publishRemote({ base, n, events }: DeltaBatch): void {
    if (base < this.base) return
    if (base > this.base) this.#beginStretch(base)
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

  /** After the newest delta that is known here. */
  get place(): DeltaPlace {
    return { base: this.base, n: this.#count }
  }

  get hasReaders(): boolean {
    return this.#readers.size > 0
  }

  /**
   * Listens from the delta after `n` on. If the ring no longer holds that delta, those of this stretch are left out: the
   * durable event that replaces them follows.
   */
  subscribe(n: number, maxBytes?: number): ReaderQueue {
    const inReach = n >= this.#dropped
    const queue = new ReaderQueue(inReach ? undefined : this.base, maxBytes)
    if (inReach) {
      for (let index = n - this.#dropped; index < this.#ring.length; index++) {
        const kept = this.#ring[index]
        if (kept) queue.pushDelta(kept.event, { seq: kept.seq, base: this.base, n: this.#dropped + index + 1 }, 0)
      }
    }
    this.#readers.add(queue)
    return queue
  }

  /** The run left in the middle: what it said is void, or is said anew by whoever goes on. */
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

  /** Calls when a run may have come to rest; returns what ends it. */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Deltas since `base`. */
  get #count(): number {
    return this.#dropped + this.#ring.length
  }

  get idle(): boolean {
    return this.#readers.size === 0 && this.#watchers.size === 0 && (this.#ring.length === 0 || this.#isRemote)
  }

  #tellWatchers(): void {
    for (const watcher of this.#watchers) watcher()
  }

  #dropOldest(): void {
    const kept = this.#ring.slice(Math.ceil(this.#ring.length / 2))
    this.#dropped += this.#ring.length - kept.length
    this.#ring = kept
    this.#ringBytes = kept.reduce((sum, { event }) => sum + deltaBytes(event), 0)
  }
}

/** The live sessions of one process, by key; those that nobody needs are let go. */
export class LiveLog {
  readonly #sessions = new Map<string, LiveSession>()

  /** The session if it is held here. */
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

  /** `endedRun`: the run that has ended in the commit of these events. */
  publish(key: string, events: readonly StoredEvent[], ofRun: boolean, endedRun?: string): void {
    if (events.length === 0) return
    this.session(key).publishDurable(events, ofRun, endedRun)
    this.#release(key)
  }

  /** A run came to rest without an event. */
  announce(key: string): void {
    this.#sessions.get(key)?.announce()
  }

  /** Something may have happened in any session. */
  announceAll(): void {
    for (const session of [...this.#sessions.values()]) session.announce()
  }

  /** Keeps the session while somebody reads, waits or runs, as its deltas are counted here; returns what lets it go. */
  hold(key: string, watcher: () => void = () => undefined): () => void {
    const unwatch = this.session(key).watch(watcher)
    return () => {
      unwatch()
      this.#release(key)
    }
  }

  /** To be called when an execution is over in this process. */
  endRun(key: string, runId: string): void {
    this.#sessions.get(key)?.dropDeltasOf(runId)
    this.#release(key)
  }

  #release(key: string): void {
    if (this.#sessions.get(key)?.idle) this.#sessions.delete(key)
  }
}
