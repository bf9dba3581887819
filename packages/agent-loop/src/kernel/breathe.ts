import type { Clock } from '@bowline/llm'
import type { RunContext } from './run-context.ts'

declare const setImmediate: ((run: () => void) => unknown) | undefined

/** How long runs may go on without a macrotask, in ms. */
const longestMs = 10
/** When runs have let go of the thread, by the clock that they share. */
const breaths = new WeakMap<Clock, number>()

/**
 * Lets timers and sockets have their turn: a model and tools that answer at once must not starve them, nor must many short
 * runs one after the other. Undefined as long as a run of the same clock has let go of the thread a short while ago.
 * A journal that publishes deltas has watchers elsewhere: they get the last ones before the message is closed.
 */
export function breathe({ clock, journal }: RunContext): Promise<void> | undefined {
  const before = breaths.get(clock)
  if (before !== undefined && !journal.publish && clock.now() - before < longestMs) return undefined
  return nextMacrotask().then(() => void breaths.set(clock, clock.now()))
}

function nextMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else postMessageTo(resolve)
  })
}

/** For browsers, whose timers may wait for milliseconds. */
function postMessageTo(run: () => void): void {
  const { port1, port2 } = new MessageChannel()
  const onMessage = (): void => {
    port1.close()
    run()
  }
  port1.addEventListener('message', onMessage, { once: true })
  port1.start()
  port2.postMessage(undefined)
}
