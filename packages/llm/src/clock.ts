import { needed } from './arguments.ts'
import { checkClock, checkInput } from './check.ts'

/**
 * An injectable clock. `now()` returns epoch milliseconds. `setTimer` runs `run` once, at or after `atMs`, and returns a function
 * that cancels the timer; at `Infinity` it never runs. A timer does not keep the process alive unless `hold` is set.
 */
export interface Clock {
  now(): number
  setTimer(atMs: number, run: () => void, options?: TimerOptions): () => void
}

/** Options of a timer. */
export interface TimerOptions {
  /**
   * Keeps the process alive until the timer has run or is cancelled. Set it for every wait that a caller awaits: otherwise a script
   * may exit in the middle of its `await`. Do not set it for background work. Default false.
   */
  readonly hold?: boolean
}

const longestTimerMs = 2 ** 31 - 1

/**
 * The system clock: `Date.now` and `setTimeout`. Timers may be longer than 2³¹ ms. They do not keep the process alive unless `hold`
 * is set.
 */
export const systemClock: Clock = {
  now: () => Date.now(),
  setTimer(atMs, run, options) {
    checkTimer(atMs, run, options)
    let timer: ReturnType<typeof setTimeout>
    const arm = (): void => {
      const leftMs = Math.max(0, atMs - Date.now())
      timer = setTimeout(() => (leftMs > longestTimerMs ? arm() : run()), Math.min(leftMs, longestTimerMs))
      if (options?.hold !== true) letProcessEnd(timer)
    }
    arm()
    return () => clearTimeout(timer)
  },
}

/** Throws `LlmError` for invalid arguments of `setTimer`. */
export function checkTimer(atMs: unknown, run: unknown, options: unknown): void {
  checkInput.checkRequired('atMs', atMs, 'a number', (given) => typeof given === 'number' && !Number.isNaN(given))
  checkInput.checkRequired('run', run, 'a function', (given) => typeof given === 'function')
  if (options === undefined) return
  checkInput.checkKeys('options', options, ['hold'])
  checkInput.checkBoolean('options.hold', (options as TimerOptions).hold)
}

/**
 * Returns the same clock with timers that keep the process alive, for work that a caller awaits. Throws `LlmError` if `clock` is
 * not a clock.
 */
export function holdingClock(clock: Clock): Clock {
  checkClock('clock', needed(clock))
  return {
    now: () => clock.now(),
    setTimer(atMs, run, options) {
      checkTimer(atMs, run, options)
      return clock.setTimer(atMs, run, { hold: true })
    },
  }
}

/** Timers of browsers are numbers and need no `unref`. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as { unref(): void }).unref()
}
