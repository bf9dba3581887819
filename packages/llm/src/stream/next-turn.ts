declare const setImmediate: ((run: () => void) => unknown) | undefined

/** Maximum number of parts read in a row. Parts that are ready are read without yielding to the event loop. */
export const partsPerTurn = 256

// Captured at load, so that fake timers of a test cannot stall a call.
const atNextTurn = typeof setImmediate === 'function' ? setImmediate : (run: () => void) => setTimeout(run, 0)

/** Yields to the event loop: timers, aborts and network data get a turn. Keeps the process alive while it waits. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void atNextTurn(resolve))
}
