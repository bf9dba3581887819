import type { Clock } from '@bowline/llm'
import { vi } from 'vitest'

/** Names of the resources of file operations in progress. */
const fileOperation = /^(FSReq|(FileHandle)?CloseReq)/
/** Callbacks that `settle` waits for. */
let ownCallbacks = 0

/** Returns true if a callback of something else than `settle` is due, or a file operation is in progress. */
function isBusy(): boolean {
  const resources = process.getActiveResourcesInfo()
  return (
    resources.filter((resource) => resource === 'Immediate').length > ownCallbacks ||
    resources.some((resource) => fileOperation.test(resource))
  )
}

async function nextRound(): Promise<void> {
  ownCallbacks++
  await new Promise<void>((resolve) => setImmediate(resolve))
  ownCallbacks--
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
        do await nextRound()
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
