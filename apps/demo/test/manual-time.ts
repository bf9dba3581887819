import type { Clock } from '@bowline/llm'
import { vi } from 'vitest'

/** Names of the resources of a process that is busy: due callbacks and file operations. */
const busyResource = /^(Immediate|FSReq|(FileHandle)?CloseReq)/

function isBusy(): boolean {
  return process.getActiveResourcesInfo().some((resource) => busyResource.test(resource))
}

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
    /**
     * Resolves when this process has no due callback and no file operation or import in progress, however long they take. Imports
     * are not checked if `isLoaded`: the check takes a millisecond.
     */
    async settle({ isLoaded = false } = {}) {
      do {
        do await new Promise<void>((resolve) => setImmediate(resolve))
        while (isBusy())
        if (!isLoaded) await vi.dynamicImportSettled()
        // An import that has ended may have started other work.
      } while (isBusy())
    },
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
