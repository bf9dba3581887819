import { checkInput } from '../check.ts'
import { checkTimer, type Clock } from '../clock.ts'

/** A clock that only `advance` moves. */
export interface ManualClock extends Clock {
  /** Number of timers that are set and have not run. */
  readonly pendingTimers: number
  /**
   * Advances the time; a negative number sets the clock back. Timers run in order, each with `now()` at its time. Between two
   * timers, everything that the first one triggers without real I/O has happened.
   */
  advance(ms: number): Promise<void>
}

interface Timer {
  readonly atMs: number
  readonly run: () => void
}

/**
 * Creates a clock that starts at `startMs` (epoch milliseconds, default 0) and that only `advance` moves. Throws `LlmError`
 * `invalid-input` if `startMs` is negative or not a number.
 */
export function manualClock(startMs = 0): ManualClock {
  checkInput.checkNumber('startMs', startMs, 0)
  const timers = new Set<Timer>()
  let now = startMs
  const dueBy = (limit: number): Timer | undefined => [...timers].filter((timer) => timer.atMs <= limit).sort((a, b) => a.atMs - b.atMs)[0]
  return {
    now: () => now,
    setTimer(atMs, run, options) {
      checkTimer(atMs, run, options)
      const timer = { atMs, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    get pendingTimers() {
      return timers.size
    },
    async advance(ms) {
      checkInput.checkRequired('ms', ms, 'a finite number', Number.isFinite)
      const until = now + ms
      await settleMicrotasks()
      for (let timer = dueBy(until); timer; timer = dueBy(until)) {
        timers.delete(timer)
        now = Math.max(now, timer.atMs)
        timer.run()
        await settleMicrotasks()
      }
      now = until
    },
  }
}

function settleMicrotasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
