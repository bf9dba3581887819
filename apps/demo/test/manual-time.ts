import type { Clock } from '@bowline/llm'

/** Creates a clock that only a test advances. */
export function manualTime(startMs = 1_700_000_000_000) {
  let now = startMs
  const timers = new Set<{ atMs: number; run: () => void }>()
  const clock: Clock = {
    now: () => now,
    setTimer(atMs, run) {
      const timer = { atMs, run }
      timers.add(timer)
      return () => timers.delete(timer)
    },
  }
  return {
    clock,
    timers: () => timers.size,
    /** Returns the time of the next timer, or undefined if none is set. */
    nextAt: () => (timers.size === 0 ? undefined : Math.min(...[...timers].map(({ atMs }) => atMs))),
    /** Lets all due work run. */
    settle: () => new Promise<void>((resolve) => setImmediate(resolve)),
    advance(byMs: number) {
      now += byMs
      for (const timer of [...timers].sort((a, b) => a.atMs - b.atMs)) {
        if (timer.atMs > now) break
        timers.delete(timer)
        timer.run()
      }
    },
  }
}
