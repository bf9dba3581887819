import type { Clock } from '@bowline/llm'

/** Why the bridge stops waiting for an agent. */
export type Interruption =
  | { readonly cause: 'caller' | 'closing' }
  | { readonly cause: 'timeout'; readonly stage: 'total' | 'inactivity' }
  | { readonly cause: 'shutdown'; readonly deadlineAt: number }

/** Deadline, inactivity and cancel of one request as one promise. The first cause wins. */
export interface Watch {
  readonly fired: Promise<Interruption>
  readonly interruption: Interruption | undefined
  readonly deadlineAt: number
  interrupt(interruption: Interruption): void
  /** Aborting the signal interrupts as `caller`. */
  follow(signal: AbortSignal): void
  /** The agent said something. */
  touch(): void
  /** From now on, or no longer, somebody else must say something: only the deadline counts. */
  pause(paused: boolean): void
  /** So much silence is too much; 0 is never, which holds until it is said. */
  limitSilence(inactivityMs: number): void
  /** Nothing fires any more. */
  dispose(): void
}

export interface WatchOptions {
  readonly clock: Clock
  readonly deadlineAt: number
}

/** One timer, armed for whichever limit comes first; `touch` moves no timer. */
export function watchRequest({ clock, ...options }: WatchOptions): Watch {
  const { promise, resolve } = Promise.withResolvers<Interruption>()
  const signals = new Map<AbortSignal, () => void>()
  let interruption: Interruption | undefined
  let over = false
  const { deadlineAt } = options
  let inactivityMs = 0
  let paused = false
  let activeAt = clock.now()
  let cancelTimer = (): void => {}

  function quietAt(): number {
    return inactivityMs > 0 && !paused ? activeAt + inactivityMs : Number.POSITIVE_INFINITY
  }

  function arm(): void {
    cancelTimer()
    cancelTimer = clock.setTimer(Math.min(deadlineAt, quietAt()), expire)
  }

  function expire(): void {
    const now = clock.now()
    if (now >= deadlineAt) interrupt({ cause: 'timeout', stage: 'total' })
    else if (now >= quietAt()) interrupt({ cause: 'timeout', stage: 'inactivity' })
    else arm()
  }

  function interrupt(cause: Interruption): void {
    if (over) return
    interruption = cause
    dispose()
    resolve(cause)
  }

  function dispose(): void {
    over = true
    cancelTimer()
    for (const [signal, listener] of signals) signal.removeEventListener('abort', listener)
    signals.clear()
  }

  arm()
  return {
    fired: promise,
    get interruption() {
      return interruption
    },
    deadlineAt,
    interrupt,
    follow(signal) {
      const listener = (): void => interrupt({ cause: 'caller' })
      if (signal.aborted) return listener()
      if (over || signals.has(signal)) return
      signals.set(signal, listener)
      signal.addEventListener('abort', listener, { once: true })
    },
    touch() {
      activeAt = clock.now()
    },
    pause(asleep) {
      paused = asleep
      activeAt = clock.now()
      if (!over) arm()
    },
    limitSilence(limitMs) {
      inactivityMs = limitMs
      activeAt = clock.now()
      if (!over) arm()
    },
    dispose,
  }
}
