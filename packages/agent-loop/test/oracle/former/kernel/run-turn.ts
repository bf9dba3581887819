import type { Window } from '../events/types.ts'
import type { ModelAnswer } from './answer.ts'
import { askModel } from './ask-model.ts'
import type { Call } from './call.ts'
import { endTurn } from './end-turn.ts'
import type { Ending } from './ending.ts'
import { enterTurn } from './enter-turn.ts'
import type { TurnEntry } from './enter-turn.ts'
import { settleStep } from './settle-step.ts'
import type { Turn } from './turn.ts'

/** What stands next in a turn. */
export type Next =
  | { readonly phase: 'ask' }
  | { readonly phase: 'settle'; readonly answer: ModelAnswer; readonly calls: readonly Call[] }
  /** `window`: for inputs that come before the end is stored. Default `step-end`. */
  | { readonly phase: 'end'; readonly ending: Ending; readonly window?: Window }
  | { readonly phase: 'ended'; readonly ending: Ending }
  | { readonly phase: 'left' }

/**
 * One turn, or one segment of it: the model is asked and its tools are run until it asks for none. Records gather in
 * the turn's draft and are stored at the boundaries. Undefined: the turn was left open for another process.
 */
export async function runTurn(turn: Turn, entry: TurnEntry): Promise<Ending | undefined> {
  let next: Next = await enterTurn(turn, entry)
  for (;;) {
    switch (next.phase) {
      case 'ask':
        next = await askModel(turn)
        break
      case 'settle':
        next = await settleStep(turn, next.answer, next.calls)
        break
      case 'end':
        next = await endTurn(turn, next.ending, { window: next.window })
        break
      case 'ended':
        return next.ending
      case 'left':
        return undefined
      default: {
        const unknown: never = next
        return unknown
      }
    }
  }
}
