import type { Clock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'

/** A clock that stands still. It knows when the next timer is due, and how many timers of the code under test are set. */
export interface WatchedClock {
  readonly now: () => number
  /** Clock for the code under test: at the end it must have no timers left. */
  readonly tested: Clock
  /** Clock for the world around it. */
  readonly world: Clock
  readonly testedTimers: number
  /** Advances to the next timer. Returns false if there is none. */
  advance(): Promise<boolean>
}

export function watchedClock(startMs: number): WatchedClock {
  const clock = manualClock(startMs)
  const tested = new Set<{ readonly atMs: number }>()
  const world = new Set<{ readonly atMs: number }>()
  return {
    now: () => clock.now(),
    tested: counted(clock, tested),
    world: counted(clock, world),
    get testedTimers() {
      return tested.size
    },
    async advance() {
      const next = Math.min(...[...tested, ...world].map(({ atMs }) => atMs))
      if (next === Infinity) return false
      await clock.advance(Math.max(0, next - clock.now()))
      return true
    },
  }
}

function counted(clock: Clock, timers: Set<{ readonly atMs: number }>): Clock {
  return {
    now: () => clock.now(),
    setTimer(atMs, run) {
      const timer = { atMs }
      timers.add(timer)
      const cancel = clock.setTimer(atMs, () => {
        timers.delete(timer)
        run()
      })
      return () => {
        timers.delete(timer)
        cancel()
      }
    },
  }
}
