import type { AssistantMessage } from '@bowline/llm'
import type { ModelFunctionMessage } from '../contract/options.ts'

export type GivenResult = Extract<ModelFunctionMessage, { role: 'tool-result' }>

/** What a model said. A model function may bring results of its calls along: they are stored, not executed. */
export interface ModelAnswer {
  readonly message: AssistantMessage
  /** By tool call id. */
  readonly results: ReadonlyMap<string, GivenResult>
}
