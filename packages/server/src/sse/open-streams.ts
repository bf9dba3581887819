import type { StreamEnd } from '@bowline/client'
import type { Clock, Redaction } from '@bowline/llm'
import type { Principal } from '../auth/principal.ts'
import type { Limits } from '../limits.ts'
import { sessionKey } from '../session-keys.ts'
import { EventStream, lastFrameMs, type EventSource } from './event-stream.ts'
import { ManagedBody } from './managed-body.ts'
import { StreamLease } from './stream-lease.ts'
import { SharedFrames } from './shared-frames.ts'
import type { StreamTimes } from './stream-timer.ts'
import { ConcurrencyCounter } from './concurrency-counter.ts'

export interface OpenStreamsOptions {
  readonly clock: Clock
  readonly heartbeatMs: number
  readonly redaction?: Redaction
  readonly limits: Required<Pick<Limits, 'streams' | 'streamsPerPrincipal' | 'streamsPerSession' | 'slowReaderMs' | 'streamMaxAgeMs'>>
}

/** The reader reconnects and then learns whether it is still authenticated. */
export const tokenExpired: StreamEnd = { type: 'stream-end', reason: 'token-expired', resume: true }

/** Reservation of a stream, which may or may not be opened. */
export interface StreamPlace {
  /** Sets the session if it was not known before. Throws `too-many-streams`. */
  ofSession(sessionId: string): void
  open(source: Omit<EventSource, 'log'>): EventStream
  /** Opens a body of another source. It ends when a stream would. */
  hold(body: ReadableStream<Uint8Array>): ManagedBody
}

type OpenStream = EventStream | ManagedBody

/** Open streams of this process. */
export class OpenStreams {
  readonly #options: OpenStreamsOptions
  readonly #streams = new Map<OpenStream, Principal>()
  readonly #shared: SharedFrames
  readonly #all: ConcurrencyCounter
  readonly #ofPrincipal: ConcurrencyCounter
  readonly #ofSession: ConcurrencyCounter

  constructor(options: OpenStreamsOptions) {
    const { streams, streamsPerPrincipal, streamsPerSession } = options.limits
    this.#options = options
    this.#shared = new SharedFrames(options.redaction)
    this.#all = new ConcurrencyCounter(streams)
    this.#ofPrincipal = new ConcurrencyCounter(streamsPerPrincipal)
    this.#ofSession = new ConcurrencyCounter(streamsPerSession)
  }

  get count(): number {
    return this.#streams.size
  }

  /**
   * Reserves a stream while `work` finds out whether there is something to stream. Throws `too-many-streams` before `work` starts,
   * so that a refused request changes nothing.
   */
  async withPlace<T>(principal: Principal, sessionId: string | undefined, work: (place: StreamPlace) => Promise<T>): Promise<T> {
    const lease = new StreamLease()
    let log: string | undefined
    let stream: OpenStream | undefined
    const place: StreamPlace = {
      ofSession: (id) => {
        log = sessionKey(principal.tenant, id)
        lease.take(this.#ofSession, log, 'of one session')
      },
      open: (source) => {
        if (log === undefined) throw new Error('A stream is one of a session.')
        const opened = this.#open(principal, { ...source, log })
        stream = opened
        return opened
      },
      hold: (body) => {
        const held = new ManagedBody(body, this.#timesOf(principal))
        stream = held
        return held
      },
    }
    try {
      lease.take(this.#all, '', 'of this server')
      lease.take(this.#ofPrincipal, JSON.stringify([principal.tenant, principal.id]), 'of one caller')
      if (sessionId !== undefined) place.ofSession(sessionId)
      return await work(place)
    } catch (error) {
      // A stream that was already opened has no reader.
      await stream?.body.cancel()
      throw error
    } finally {
      if (stream) this.#keep(stream, principal, lease)
      else lease.leave()
    }
  }

  /** Lets streams finish for `drainMs`, then ends the rest with `drained`: readers reconnect to another process. */
  async drain(drainMs: number): Promise<void> {
    await this.#settle(drainMs)
    for (const stream of this.#streams.keys()) stream.end({ type: 'stream-end', reason: 'drained', resume: true })
    await this.#settle(lastFrameMs)
  }

  /** Ends the streams of callers that are no longer known. */
  async recheck(isKnown: (principal: Principal) => Promise<boolean>): Promise<void> {
    await Promise.all([...this.#streams].map(async ([stream, principal]) => (await isKnown(principal)) || stream.end(tokenExpired)))
  }

  #open(principal: Principal, source: EventSource): EventStream {
    const times = this.#timesOf(principal)
    const reason = times.endsAt === principal.expiresAt ? 'token-expired' : 'max-age'
    return new EventStream({ ...source, ...times, shared: this.#shared, endsWith: { type: 'stream-end', reason, resume: true } })
  }

  #timesOf({ expiresAt = Infinity }: Principal): Required<StreamTimes> {
    const { clock, heartbeatMs, limits } = this.#options
    const { slowReaderMs, streamMaxAgeMs } = limits
    return { clock, heartbeatMs, slowReaderMs, endsAt: Math.min(clock.now() + streamMaxAgeMs, expiresAt) }
  }

  #keep(stream: OpenStream, principal: Principal, lease: StreamLease): void {
    this.#streams.set(stream, principal)
    void stream.closed.then(() => {
      this.#streams.delete(stream)
      lease.leave()
    })
  }

  /** Resolves when all current streams are closed, at the latest after `withinMs`. */
  async #settle(withinMs: number): Promise<void> {
    if (this.#streams.size === 0) return
    const { clock } = this.#options
    const late = Promise.withResolvers<void>()
    const cancel = clock.setTimer(clock.now() + withinMs, () => late.resolve(), { hold: true })
    await Promise.race([Promise.all([...this.#streams.keys()].map((stream) => stream.closed)), late.promise])
    cancel()
  }
}
