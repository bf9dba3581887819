import type { Window } from '../events/types.ts'
import type { ModelAnswer } from './answer.ts'
import type { Call } from './call.ts'
import type { TurnOutcome } from './ending.ts'

/** What comes next in a turn. */
export type Next =
  | { readonly phase: 'ask' }
  | { readonly phase: 'settle'; readonly answer: ModelAnswer; readonly calls: readonly Call[] }
  /** `slot`: for inputs that come before the end is stored. Default `step-end`. */
  | { readonly phase: 'end'; readonly outcome: TurnOutcome; readonly slot?: Window }
  | { readonly phase: 'ended'; readonly outcome: TurnOutcome }
  | { readonly phase: 'yielded' }
