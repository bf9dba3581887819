/** Injected time. `now()` is epoch milliseconds. `setTimer` runs `run` once at or after `atMs` and returns a function that cancels it. */
export interface Clock {
  now(): number
  setTimer(atMs: number, run: () => void): () => void
}

/** Its timers hold a script: one that waits for the next try has nothing else that keeps it running. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(atMs, run) {
    const timer = setTimeout(run, Math.max(0, atMs - Date.now()))
    return () => clearTimeout(timer)
  },
}
