import type { ClientEvent } from './client-event.ts'
import type { Clock } from './clock.ts'
import type { ExecuteResult, RunReader } from './run-reader.ts'

/**
 * One input and its outcome. Iteration and `result()` may be combined in any order; each event is yielded once. If an iteration
 * ends early, the reading ends, unless `result()` was called. The run continues in any case.
 */
export interface Run extends AsyncIterable<ClientEvent> {
  readonly sessionId: string
  /** Known when the input has been accepted. */
  readonly runId: string | undefined
  /** Log position of the last event that was read. */
  readonly cursor: string | undefined
  /** Resolves when the input is durable on the server, or when it has failed. Never rejects. */
  accepted(): Promise<Acceptance>
  /** Resolves when the run waits or has ended, or when the reading failed. Never rejects. */
  result(): Promise<ExecuteResult>
}

/** Result of sending an input: stored by the server, or an error. */
export type Acceptance =
  | { readonly ok: true; readonly sessionId: string; readonly runId: string | undefined }
  | { readonly ok: false; readonly error: NonNullable<ExecuteResult['error']> }

/** Maximum size of buffered deltas for an iteration that is slower than `result()`. */
const maxDeltaBytes = 1024 * 1024
const deltaOverheadBytes = 200
/** Time after which the connection of an accepted run is closed if no caller iterates it or awaits its result. */
const unwantedMs = 1_000

export class RunHandle implements Run {
  readonly sessionId: string
  readonly #reader: RunReader
  readonly #clock: Clock
  readonly #queue = new EventQueue()
  readonly #accepted = Promise.withResolvers<Acceptance>()
  readonly #settled = Promise.withResolvers<ExecuteResult>()
  #isAccepted = false
  #isSettled = false
  #resultWanted = false
  #iterators = 0
  #waiting: (() => void)[] = []
  #wakePump: (() => void) | undefined
  #pause = new AbortController()

  constructor(sessionId: string, clock: Clock, makeReader: (onAccepted: () => void) => RunReader) {
    this.sessionId = sessionId
    this.#clock = clock
    this.#reader = makeReader(() => this.#accept())
    void this.#pump()
  }

  get runId(): string | undefined {
    return this.#reader.runId
  }

  get cursor(): string | undefined {
    return this.#reader.cursor
  }

  accepted(): Promise<Acceptance> {
    return this.#accepted.promise
  }

  result(): Promise<ExecuteResult> {
    this.#resultWanted = true
    this.#wakePump?.()
    return this.#settled.promise
  }

  [Symbol.asyncIterator](): AsyncIterator<ClientEvent, undefined, undefined> {
    this.#iterators++
    let open = true
    const close = (): void => {
      if (open) this.#leave()
      open = false
    }
    return {
      next: async () => {
        for (;;) {
          const value = open ? this.#queue.shift() : undefined
          if (value) return { done: false, value }
          if (this.#isSettled) close()
          if (!open) return { done: true, value: undefined }
          await this.#more()
        }
      },
      return: async () => {
        close()
        return { done: true, value: undefined }
      },
    }
  }

  /**
   * After acceptance, reads only while a caller iterates the run or awaits its result. Never rejects: the reader does not throw.
   */
  async #pump(): Promise<void> {
    let result: ExecuteResult | undefined
    while (!result) {
      this.#pause = new AbortController()
      const events = this.#reader.read(this.#pause.signal)
      for (;;) {
        await this.#demand()
        const step = await events.next()
        if (step.done) {
          result = step.value
          break
        }
        this.#queue.push(step.value)
        this.#wakeIterators()
      }
    }
    this.#isSettled = true
    this.#settled.resolve(result)
    this.#accepted.resolve({ ok: false, error: result.error ?? { code: 'network', message: 'The input was not accepted.' } })
    this.#wakeIterators()
  }

  async #demand(): Promise<void> {
    while (this.#isAccepted && !this.#resultWanted && this.#waiting.length === 0) {
      const nobody = this.#iterators === 0
      const pauseAt = this.#clock.now() + unwantedMs
      const cancel = nobody ? this.#clock.setTimer(pauseAt, () => this.#pause.abort()) : undefined
      await new Promise<void>((resolve) => (this.#wakePump = resolve))
      cancel?.()
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#wakePump?.()
    })
  }

  #leave(): void {
    this.#iterators--
    if (this.#iterators === 0 && !this.#resultWanted) this.#pause.abort()
  }

  #wakeIterators(): void {
    for (const wake of this.#waiting.splice(0)) wake()
  }

  #accept(): void {
    this.#isAccepted = true
    this.#accepted.resolve({ ok: true, sessionId: this.sessionId, runId: this.runId })
  }
}

/**
 * Events that were read and not yet yielded. From `maxDeltaBytes` of deltas on, deltas of one block are joined, and live output of
 * tools is dropped.
 */
class EventQueue {
  readonly #events: ClientEvent[] = []
  #deltaBytes = 0

  push(event: ClientEvent): void {
    if ('delta' in event && (this.#deltaBytes += deltaOverheadBytes + event.delta.length) > maxDeltaBytes) {
      if (event.type === 'tool-execution-delta') return
      const last = this.#events.at(-1)
      if (last && 'delta' in last && last.type === event.type && last.index === event.index) {
        this.#events.pop()
        event = { ...last, delta: last.delta + event.delta }
      }
    }
    this.#events.push(event)
  }

  shift(): ClientEvent | undefined {
    const event = this.#events.shift()
    if (this.#events.length === 0) this.#deltaBytes = 0
    return event
  }
}
