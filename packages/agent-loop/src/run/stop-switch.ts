import type { AbortCause } from '../journal/journal.ts'

/** Every way to stop a run comes together here: the first cause counts, unless the run belongs to somebody else by now. */
export class StopSwitch {
  readonly #controller = new AbortController()
  readonly #followed: (() => void)[] = []
  #cause: AbortCause | undefined

  get cause(): AbortCause | undefined {
    return this.#cause
  }

  /** For model call and tools. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The turn is to be ended. */
  get stopped(): boolean {
    return this.#cause?.kind === 'stop'
  }

  /** The turn is to be left open. */
  get leaving(): boolean {
    return this.#cause !== undefined && this.#cause.kind !== 'stop'
  }

  stop(cause: AbortCause): void {
    if (this.#cause && cause.kind !== 'fenced') return
    this.#cause = cause
    this.#controller.abort(new DOMException(cause.reason ?? 'the run was stopped', 'AbortError'))
  }

  follow(signal: AbortSignal | undefined): void {
    if (!signal) return
    const onAbort = (): void => this.stop(causeOf(signal.reason))
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    this.#followed.push(() => signal.removeEventListener('abort', onAbort))
  }

  /** Lets go of the signals it follows. */
  release(): void {
    for (const leave of this.#followed.splice(0)) leave()
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
