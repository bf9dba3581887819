declare const setImmediate: ((run: () => void) => unknown) | undefined

/** So many parts may be read in a row. Those that are there at once come without a turn of the event loop between them. */
export const partsPerTurn = 256

// Taken once, so that a clock which a test puts in its place later holds up no call.
const atNextTurn = typeof setImmediate === 'function' ? setImmediate : (run: () => void) => setTimeout(run, 0)

/** Lets everybody else have a turn: timers, aborts, what came over the network. It holds the process while it waits. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void atNextTurn(resolve))
}
