import type { Clock } from '@bowline/llm'

/** Reason for which the bridge stops waiting for an agent. */
export type Interruption =
  | { readonly cause: 'caller' | 'closing' }
  | { readonly cause: 'timeout'; readonly stage: 'total' | 'inactivity' }
  | { readonly cause: 'shutdown'; readonly deadlineAt: number }

/** Combines deadline, inactivity timeout and cancel of one request in one promise. The first cause wins. */
export interface Watch {
  readonly fired: Promise<Interruption>
  readonly interruption: Interruption | undefined
  readonly deadlineAt: number
  interrupt(interruption: Interruption): void
  /** Aborting the signal interrupts as `caller`. */
  follow(signal: AbortSignal): void
  /** Resets the inactivity timeout, because the agent sent something. */
  touch(): void
  /** Pauses or resumes the inactivity timeout, for example while the agent waits for input. The deadline still applies. */
  pause(paused: boolean): void
  /** Sets the inactivity timeout in ms; 0, the initial value, disables it. */
  limitSilence(inactivityMs: number): void
  /** Cancels all timers and listeners. */
  dispose(): void
}

export interface WatchOptions {
  readonly clock: Clock
  readonly deadlineAt: number
}

/** Uses one timer, for the earliest limit. `touch` does not rearm it. */
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
