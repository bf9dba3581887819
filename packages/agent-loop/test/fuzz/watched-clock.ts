import type { Clock } from '@bowline/llm'
import { manualClock } from '@bowline/llm/testing'

/** A clock that stands still, and knows when the next timer is due and how many of those under test are set. */
export interface WatchedClock {
  readonly now: () => number
  /** For what is tested: its timers must be gone in the end. */
  readonly tested: Clock
  /** For the world around it. */
  readonly world: Clock
  readonly testedTimers: number
  /** Goes on to the next timer; false when there is none. */
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
