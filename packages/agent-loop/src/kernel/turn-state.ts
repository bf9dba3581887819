import type { Turn } from './turn.ts'

let next = 0

/**
 * The state of one plug-in, one per turn: made when the plug-in first looks at the turn. Returns the function that
 * finds it.
 */
export function turnState<State extends object>(make: (turn: Turn) => State): (turn: Turn) => State {
  const place = next++
  return (turn) => (turn.states[place] ??= make(turn)) as State
}
