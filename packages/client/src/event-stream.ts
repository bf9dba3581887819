import { isDelta } from '@bowline/agent-loop/events'
import type { AgentEvent } from '@bowline/agent-loop/events'
import { asClientError, inTime, type HttpOptions } from './http.ts'
import { ClientError } from './client-error.ts'
import { frameDecoder, isTransport } from './client-event.ts'
import type { ClientEvent, UnknownEvent } from './client-event.ts'
import type { Connection } from './connection.ts'
import { isAfter, positionOf, type LogPosition } from './cursor.ts'
import { Patience } from './patience.ts'
import { createSseParser, type SseFrame, type SseParser } from './sse-parser.ts'
import type { ExecuteComplete, StreamEnd, StreamError } from './wire.ts'
import type { SessionView } from './wire-sessions.ts'

/** Frame that the reader has not seen before, and the cursor after it. */
export interface Received {
  readonly frame: ClientEvent | ExecuteComplete | StreamEnd
  readonly cursor: string | undefined
}

export interface FollowOptions {
  readonly http: HttpOptions
  /** Makes one try to connect after this position. */
  readonly open: (cursor: string | undefined, signal: AbortSignal) => Promise<Response>
  readonly cursor?: string | undefined
  readonly signal: AbortSignal
  /** Loads the state that replaces events the log no longer holds. */
  readonly loadState: (signal: AbortSignal) => Promise<SessionView>
  readonly onConnection?: ((connection: Connection) => void) | undefined
}

/** End of one connection: `end` is final, `again` reconnects at once, and an error is the cause of a failure. */
type Ending = 'end' | 'again' | ClientError

/**
 * Reads one stream over as many connections as needed. The stream ends with the frame that says so. If a connection ends without
 * that frame, the next one resumes after the last cursor. Rejects with a `ClientError` if it cannot continue.
 */
export function follow(options: FollowOptions): AsyncGenerator<Received, void, undefined> {
  return new Follower(options).read()
}

class Follower {
  readonly #options: FollowOptions
  readonly #patience: Patience
  #cursor: string | undefined
  /** True until an event follows a resync. If the server refuses the new cursor at once, it will always refuse it. */
  #resynced = false
  #wasOpen = false
  #lastSeq: number
  #lastDelta: LogPosition

  constructor(options: FollowOptions) {
    this.#options = options
    this.#patience = new Patience(options.http)
    this.#cursor = options.cursor
    this.#lastDelta = positionOf(options.cursor ?? '') ?? { seq: 0, delta: 0 }
    this.#lastSeq = this.#lastDelta.seq
  }

  async *read(): AsyncGenerator<Received, void, undefined> {
    const { signal } = this.#options
    try {
      for (;;) {
        const ending = yield* this.#connect()
        if (ending === 'end') return
        if (ending === 'again') continue
        if (ending.code === 'cursor-expired' && !this.#resynced) yield this.#resync()
        // A token function that worked before may fail as the connection did: there is no network.
        else if (ending.retryable || (this.#wasOpen && ending.code === 'token-failed'))
          await this.#patience.wait(ending, signal, (nextTryAt) => this.#say({ state: 'waiting', nextTryAt }))
        else throw ending
      }
    } finally {
      this.#say({ state: 'closed' })
    }
  }

  async *#connect(): AsyncGenerator<Received, Ending, undefined> {
    const leaving = new AbortController()
    const signal = AbortSignal.any([this.#options.signal, leaving.signal])
    this.#say({ state: 'connecting' })
    try {
      const response = await this.#options.open(this.#cursor, signal)
      if (response.status === 204) return 'end'
      this.#patience.contact()
      this.#wasOpen = true
      this.#say({ state: 'open' })
      return yield* this.#frames(bodyOf(response), leaving)
    } catch (error) {
      return asClientError(error, this.#options.signal)
    } finally {
      leaving.abort()
    }
  }

  async *#frames(body: ReadableStream<Uint8Array>, leaving: AbortController): AsyncGenerator<Received, Ending, undefined> {
    const parser = createSseParser()
    const decode = frameDecoder()
    let progress = false
    for await (const frame of this.#read(body, parser, leaving)) {
      if (frame.id !== undefined) this.#cursor = frame.id
      const decoded = decode(frame)
      if (!isTransport(decoded)) {
        progress = true
        this.#resynced = false
        this.#patience.progress()
        if (this.#isNew(decoded, frame.id)) yield { frame: decoded, cursor: this.#cursor }
        continue
      }
      if (decoded.type === 'stream-error') return errorOf(decoded)
      if (decoded.type === 'execute-complete' || !decoded.resume) {
        yield { frame: decoded, cursor: this.#cursor }
        return 'end'
      }
      // The server ended the stream as planned. Backoff is needed if it is draining or if it ends every stream at once.
      if (progress && decoded.reason !== 'drained') return 'again'
    }
    return new ClientError('network', 'The stream was cut off.', { retryable: true })
  }

  /** Reads only on demand, so that a slow consumer slows down the socket. */
  async *#read(body: ReadableStream<Uint8Array>, parser: SseParser, leaving: AbortController): AsyncGenerator<SseFrame, void, undefined> {
    const reader = body.getReader()
    // Not every fetch ends the body when its signal aborts. An error of cancel no longer matters.
    const cancel = (): void => void reader.cancel().catch(() => undefined)
    const ended = AbortSignal.any([this.#options.signal, leaving.signal])
    ended.addEventListener('abort', cancel)
    try {
      for (;;) {
        const { done, value } = await inTime(this.#options.http, leaving, () => reader.read())
        if (done) return
        this.#patience.contact()
        const frames = parser.push(value)
        this.#patience.retryMs = parser.retryMs
        yield* frames
      }
    } finally {
      ended.removeEventListener('abort', cancel)
      cancel()
    }
  }

  /** Returns false for repeats: servers and proxies may send events from before an interruption again. */
  #isNew(event: AgentEvent | UnknownEvent, id: string | undefined): boolean {
    if (isDelta(event)) {
      const position = id === undefined ? undefined : positionOf(id)
      if (!position) return true
      if (!isAfter(position, this.#lastDelta)) return false
      this.#lastDelta = position
      return true
    }
    const seq = event.type === 'unknown' ? event.event['seq'] : event.seq
    if (typeof seq !== 'number') return true
    if (seq <= this.#lastSeq) return false
    this.#lastSeq = seq
    return true
  }

  async #resync(): Promise<Received> {
    const state = await this.#options.loadState(this.#options.signal)
    this.#resynced = true
    this.#cursor = state.cursor
    this.#lastSeq = positionOf(state.cursor)?.seq ?? 0
    return { frame: { type: 'resync', state }, cursor: state.cursor }
  }

  #say(connection: Connection): void {
    this.#options.onConnection?.(connection)
  }
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  const type = response.headers.get('content-type') ?? ''
  if (response.body && type.startsWith('text/event-stream')) return response.body
  throw new ClientError('invalid-answer', `The answer is "${type}", not an event stream. Check baseUrl.`, { status: response.status })
}

function errorOf({ problem }: StreamError): ClientError {
  return new ClientError(problem.code, problem.detail, { ...problem, problem })
}
