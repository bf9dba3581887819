import type { Clock } from '@bowline/llm'

/** A clock that moves only when a test moves it. */
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
    /** When the next timer is due. Undefined if none is set. */
    nextAt: () => (timers.size === 0 ? undefined : Math.min(...[...timers].map(({ atMs }) => atMs))),
    /** Lets everything run that is already due. */
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
