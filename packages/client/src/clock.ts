/**
 * Injected time. `now()` returns epoch milliseconds. `setTimer` runs `run` once at or after `atMs` and returns a function that
 * cancels it.
 */
export interface Clock {
  now(): number
  setTimer(atMs: number, run: () => void): () => void
}

/** Clock of the platform. Its timers keep a Node process alive: a script that waits for a retry has nothing else that does. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(atMs, run) {
    const timer = setTimeout(run, Math.max(0, atMs - Date.now()))
    return () => clearTimeout(timer)
  },
}
