import { checkInput } from './check.ts'

/**
 * Time, injected. `now()` is epoch milliseconds; `setTimer` runs `run` once at or after `atMs` and returns a function
 * that cancels it. Timers must not keep the process alive.
 */
export interface Clock {
  now(): number
  setTimer(atMs: number, run: () => void): () => void
}

const longestTimerMs = 2 ** 31 - 1

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(atMs, run) {
    checkTimer(atMs, run)
    let timer: ReturnType<typeof setTimeout>
    const arm = (): void => {
      const leftMs = Math.max(0, atMs - Date.now())
      timer = setTimeout(() => (leftMs > longestTimerMs ? arm() : run()), Math.min(leftMs, longestTimerMs))
      letProcessEnd(timer)
    }
    arm()
    return () => clearTimeout(timer)
  },
}

/** Throws `LlmError` for a timer that never runs. */
export function checkTimer(atMs: unknown, run: unknown): void {
  checkInput.checkRequired('atMs', atMs, 'a number', (given) => typeof given === 'number' && !Number.isNaN(given))
  checkInput.checkRequired('run', run, 'a function', (given) => typeof given === 'function')
}

/** Timers of browsers are numbers, and have no process to hold. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as { unref(): void }).unref()
}
