/** So many parts may be read in a row. Those that are there at once come without a turn of the event loop between them. */
export const partsPerTurn = 256

// Taken once, so that a clock which a test puts in its place later holds up no call.
const { setImmediate: atNextTurn = (run) => setTimeout(run, 0) }: { readonly setImmediate?: (run: () => void) => unknown } = globalThis

/** Lets everybody else have a turn: timers, aborts, what came over the network. It holds the process while it waits. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => void atNextTurn(resolve))
}
