import type { FunctionTool, LanguageModelV4 } from '@bowline/llm'
import type { OnUnknownOutcome, Tool } from '../tools/tool.ts'
import type { Limits } from './options.ts'

/** The options of an agent, checked and with defaults. */
export interface AgentDefinition {
  readonly model: LanguageModelV4
  readonly instructions: string
  readonly tools: ReadonlyMap<string, Tool>
  /** The tools as a model is told of them. */
  readonly declarations: readonly FunctionTool[]
  readonly toolConcurrency: number
  readonly limits: Limits
  readonly abortGraceMs: number
  readonly onUnknownOutcome: OnUnknownOutcome
}
