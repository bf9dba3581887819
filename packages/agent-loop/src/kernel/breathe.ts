import type { RunContext } from './run-context.ts'

declare const setImmediate: ((run: () => void) => unknown) | undefined

/** How long a run may go on without a macrotask, in ms. */
const longestMs = 10
const breaths = new WeakMap<object, number>()

/**
 * Lets timers and sockets have their turn: a model and tools that answer at once must not starve them, nor must many short
 * runs one after the other. Undefined as long as the run has let go of the thread a short while ago, by its own clock.
 * A journal that publishes deltas has watchers elsewhere: they get the last ones before the message is closed.
 */
export function breathe(run: RunContext): Promise<void> | undefined {
  const before = breaths.get(run)
  if (before !== undefined && !run.journal.publish && run.clock.now() - before < longestMs) return undefined
  return nextMacrotask().then(() => void breaths.set(run, run.clock.now()))
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
