import { ask } from './ask.ts'
import { end } from './end.ts'
import type { TurnOutcome } from './ending.ts'
import { enter } from './enter.ts'
import type { TurnEntry } from './enter.ts'
import { settle } from './settle.ts'
import type { Turn } from './turn.ts'

/**
 * Runs one turn, or one segment of it: asks the model and runs the tools that it calls, until it calls none. Records gather in the
 * turn's log and are stored at the boundaries. Returns undefined if the turn is left open for another process.
 */
export async function runTurn(turn: Turn, entry: TurnEntry): Promise<TurnOutcome | undefined> {
  // A turn that is resumed begins at another phase.
  let next = await enter(turn, entry)
  for (;;) {
    if (next.phase === 'ask') next = await ask(turn)
    else if (next.phase === 'settle') next = await settle(turn, next.answer, next.calls)
    else if (next.phase === 'end') next = await end(turn, next.outcome, next.slot)
    else return next.phase === 'ended' ? next.outcome : undefined
  }
}
