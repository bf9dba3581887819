import type { AbortCause } from '../contract/journal.ts'
import type { EndReason, TurnError } from '../events/turn-events.ts'

/** A stop that says how the turn ends: a limit, a guardrail, or an extension that failed. */
export interface EndingCause extends StopEnding {
  readonly kind: 'stop'
  /** Message for the tools and the model call that are stopped. */
  readonly message?: string
}

export interface StopEnding {
  readonly status: 'aborted' | 'limit' | 'halted' | 'error'
  readonly reason: EndReason
  readonly error?: TurnError
}

export type StopCause = AbortCause | EndingCause

/** All ways to stop a run meet here. The first cause counts, unless another process has taken the run over. */
export class StopSwitch {
  readonly #controller = new AbortController()
  readonly #onStop = new Set<() => void>()
  readonly #onLost = new Set<() => void>()
  /** For each followed signal or switch, a function that stops following it. */
  readonly #followed = new Map<AbortSignal | StopSwitch, () => void>()
  readonly #now: () => number
  /** For the model call and the tools. */
  readonly signal: AbortSignal
  /** Only the switch itself changes these fields. They are plain because the loop reads them all the time. */
  cause: StopCause | undefined
  /** In epoch milliseconds. */
  stoppedAt: number | undefined
  /** True: the turn must be ended or left open, and the signal is aborted. */
  requested = false
  /** True: the turn must be ended. */
  stopped = false
  /** True: the turn must be left open for another process. */
  leaving = false

  constructor(now: () => number) {
    this.#now = now
    this.signal = this.#controller.signal
  }

  /** Returns how a stopped turn ends: as its cause says, else `aborted`. */
  get ending(): StopEnding {
    const { cause } = this
    if (!cause || !('status' in cause)) return { status: 'aborted', reason: 'abort' }
    const { status, reason, error } = cause
    return { status, reason, ...(error && { error }) }
  }

  stop(cause: StopCause): void {
    if (this.cause && cause.kind !== 'fenced') return
    this.cause = cause
    this.requested = true
    this.stopped = cause.kind === 'stop'
    this.leaving = !this.stopped
    this.stoppedAt ??= this.#now()
    const message = 'status' in cause ? cause.message : cause.reason
    this.#controller.abort(new DOMException(message ?? 'the run was stopped', 'AbortError'))
    tell(this.#onStop)
    if (cause.kind === 'fenced') tell(this.#onLost)
  }

  /**
   * Adds a listener for a stop. For listeners that come and go with each call: a signal takes more time for them. Returns a
   * function that removes it.
   */
  onStop(listener: () => void): () => void {
    if (this.requested) return () => undefined
    this.#onStop.add(listener)
    return () => void this.#onStop.delete(listener)
  }

  /**
   * Adds a listener for the moment when nothing of the run can be stored any more: the run then waits for nothing, whatever stopped
   * it before. Returns a function that removes it.
   */
  onLost(listener: () => void): () => void {
    this.#onLost.add(listener)
    return () => void this.#onLost.delete(listener)
  }

  /** Waits for a value. Rejects with the signal's reason if the run is stopped: a function that hangs must not hold it. */
  until<Value>(asked: Value | PromiseLike<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(this.signal.reason as Error)
      const forget = this.onStop(leave)
      if (this.requested) leave()
      const behind =
        <Result>(settle: (result: Result) => void) =>
        (result: Result): void => {
          forget()
          settle(result)
        }
      Promise.resolve(asked).then(behind(resolve), behind(reject))
    })
  }

  follow(signal: AbortSignal | undefined): void {
    if (!signal || this.#followed.has(signal)) return
    const onAbort = (): void => this.stop(causeOf(signal.reason))
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    this.#followed.set(signal, () => signal.removeEventListener('abort', onAbort))
  }

  /** Follows the run above: if nothing of that run can be stored any more, nothing of this one can. */
  followLoss(above: StopSwitch | undefined): void {
    if (above)
      this.#followed.set(
        above,
        above.onLost(() => this.stop({ kind: 'fenced' })),
      )
  }

  /** Stops following signals and switches. */
  release(): void {
    for (const leave of this.#followed.values()) leave()
    this.#followed.clear()
  }
}

/** Calls each listener once. */
function tell(listeners: Set<() => void>): void {
  for (const listener of listeners) {
    listeners.delete(listener)
    listener()
  }
}

/** Reads the cause from a signal's reason. A reason that is no `AbortCause` is a stop. */
function causeOf(reason: unknown): AbortCause {
  if (typeof reason === 'string') return { kind: 'stop', reason }
  if (typeof reason !== 'object' || reason === null) return { kind: 'stop' }
  const { kind, reason: text, message } = reason as { kind?: unknown; reason?: unknown; message?: unknown }
  const words = [text, message].find((value) => typeof value === 'string')
  const known = kind === 'yield' || kind === 'fenced' ? kind : 'stop'
  return { kind: known, ...(words !== undefined && { reason: words }) }
}
