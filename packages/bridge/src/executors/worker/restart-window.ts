import type { RestartLimits } from './options.ts'

/** Next step after a loss: a restart after `delayMs`, and the state of the worker until then. */
export interface NextStart {
  readonly state: 'waiting' | 'unavailable'
  readonly delayMs: number
}

/** Counts the restarts of one worker instance. */
export interface RestartWindow {
  /** Restarts since the executor was started. */
  readonly total: number
  next(now: number): NextStart
  restarted(now: number): void
}

export function createRestartWindow({ maxRestarts, windowMs, backoffMs, maxBackoffMs }: RestartLimits): RestartWindow {
  let recent: number[] = []
  let total = 0
  return {
    get total() {
      return total
    },
    next(now) {
      recent = recent.filter((at) => now - at < windowMs)
      if (recent.length >= maxRestarts) return { state: 'unavailable', delayMs: (recent[0] ?? now) + windowMs - now }
      return { state: 'waiting', delayMs: Math.min(maxBackoffMs, backoffMs * 2 ** recent.length) }
    },
    restarted(now) {
      total += 1
      recent.push(now)
    },
  }
}
