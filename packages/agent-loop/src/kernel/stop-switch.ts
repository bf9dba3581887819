import type { AbortCause } from '../contract/journal.ts'
import type { EndReason, TurnError } from '../events/turn-events.ts'

/** A stop that says how the turn ends: a limit, a guardrail, an extension that failed. */
export interface EndingCause extends StopEnding {
  readonly kind: 'stop'
  /** For the tools and the model call that are stopped. */
  readonly message?: string
}

export interface StopEnding {
  readonly status: 'aborted' | 'limit' | 'halted' | 'error'
  readonly reason: EndReason
  readonly error?: TurnError
}

export type StopCause = AbortCause | EndingCause

/** Every way to stop a run comes together here: the first cause counts, unless another process has taken the run over. */
export class StopSwitch {
  readonly #controller = new AbortController()
  readonly #onStop = new Set<() => void>()
  readonly #onLost = new Set<() => void>()
  /** By whom is followed, how to leave it. */
  readonly #followed = new Map<AbortSignal | StopSwitch, () => void>()
  readonly #now: () => number
  /** For model call and tools. */
  readonly signal: AbortSignal
  /** Only the switch itself changes these: the loop looks at them all the time. */
  cause: StopCause | undefined
  /** Epoch milliseconds. */
  stoppedAt: number | undefined
  /** The turn is to be ended or left: the signal is aborted. */
  requested = false
  /** The turn is to be ended. */
  stopped = false
  /** The turn is to be left open. */
  leaving = false

  constructor(now: () => number) {
    this.#now = now
    this.signal = this.#controller.signal
  }

  /** How a turn ends that is stopped: as its cause says, else `aborted`. */
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

  /** For listeners that come and go with each call: a signal takes more time for them. Gives what takes it away. */
  onStop(listener: () => void): () => void {
    if (this.requested) return () => undefined
    this.#onStop.add(listener)
    return () => void this.#onStop.delete(listener)
  }

  /** When nothing of the run can be stored any more: it waits for nothing, whatever stopped it before. */
  onLost(listener: () => void): () => void {
    this.#onLost.add(listener)
    return () => void this.#onLost.delete(listener)
  }

  /** Rejects with the signal's reason when the run is stopped: a function that hangs must not hold it. */
  until<Value>(asked: Value | PromiseLike<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(this.signal.reason as Error)
      const forget = this.onStop(leave)
      if (this.requested) leave()
      const behind = <Result>(settle: (result: Result) => void) => (result: Result): void => {
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

  /** Of a run above: when nothing of it can be stored any more, nothing of this one can. */
  followLoss(above: StopSwitch | undefined): void {
    if (above) this.#followed.set(above, above.onLost(() => this.stop({ kind: 'fenced' })))
  }

  /** Lets go of whom it follows. */
  release(): void {
    for (const leave of this.#followed.values()) leave()
    this.#followed.clear()
  }
}

/** Each is told once. */
function tell(listeners: Set<() => void>): void {
  for (const listener of listeners) {
    listeners.delete(listener)
    listener()
  }
}

/** A signal whose reason is no `AbortCause` is a stop. */
function causeOf(reason: unknown): AbortCause {
  if (typeof reason === 'string') return { kind: 'stop', reason }
  if (typeof reason !== 'object' || reason === null) return { kind: 'stop' }
  const { kind, reason: text, message } = reason as { kind?: unknown; reason?: unknown; message?: unknown }
  const words = [text, message].find((value) => typeof value === 'string')
  const known = kind === 'yield' || kind === 'fenced' ? kind : 'stop'
  return { kind: known, ...(words !== undefined && { reason: words }) }
}
