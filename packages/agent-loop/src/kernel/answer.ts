import type { AssistantMessage, ModelError } from '@bowline/llm'
import type { ModelFunctionMessage } from '../contract/options.ts'
import type { TurnOutcome } from './ending.ts'
import type { ModelTarget } from './model-target.ts'

export type GivenResult = Extract<ModelFunctionMessage, { role: 'tool-result' }>

/** What a model said. It may bring results of its calls along: they are stored, not executed. */
export interface ModelAnswer {
  readonly message: AssistantMessage
  /** By tool call id. */
  readonly results: ReadonlyMap<string, GivenResult>
}

/** What becomes of an answer that is not accepted. `withdraw`: messages that leave the transcript with it. */
export type AnswerVerdict =
  | {
      readonly kind: 'retry'
      readonly cause: 'error' | 'overflow' | 'fallback'
      readonly delayMs: number
      readonly error: ModelError
      readonly withdraw: readonly string[]
      /** The model that takes over, and its place in the plan. */
      readonly fallback?: { readonly place: number; readonly model: ModelTarget }
      /** Asked before the next attempt is announced. False: it would fail like this one. */
      readonly prepare?: () => Promise<boolean>
    }
  /** The turn ends, and leaves nothing in the transcript. */
  | { readonly kind: 'fail'; readonly error: ModelError; readonly withdraw: readonly string[]; readonly outcome: TurnOutcome }
