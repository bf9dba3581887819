import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { BridgeLimits } from '../bridge-contract.ts'
import type { InputIssue } from '../input/issues.ts'
import type { BridgeRedaction } from '../redact.ts'
import type { BridgeView } from './bridge-view.ts'
import type { ProgressSender } from './report-progress.ts'

/** One tool: what it is called, what it takes and gives, and what it does. */
export interface BridgeTool<Input extends z.ZodType = z.ZodType> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  /** Checks the rules that the schema cannot state. The input may be of any shape. */
  issues?(input: object, limits: Pick<BridgeLimits, 'maxTimeoutMs'>): readonly InputIssue[]
  /** Names that are still taken, with the ones that replaced them. */
  readonly oldNames?: Readonly<Record<string, string>>
  readonly output: z.ZodType
  readonly annotations: ToolHints
  /** Throws a `BridgeError` for a failure. */
  run(call: ToolCall, input: z.input<Input>): Promise<object>
}

/** All four, since what is absent means yes for destructive and open world. */
export type ToolHints = Required<Pick<ToolAnnotations, 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint'>>

/** Of tools that only look. */
export const looks: ToolHints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

/** Of tools that give work to an agent, which may do whatever it can. */
export const givesWork: ToolHints = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

/** What a tool has to do with besides its input. */
export interface ToolCall {
  readonly bridge: BridgeView
  readonly redaction: BridgeRedaction
  /** Aborted when the caller cancels, when its connection is lost, and after the answer, when it means nothing. */
  readonly abortSignal: AbortSignal
  /** Undefined: the caller asked for no progress. */
  readonly sendProgress: ProgressSender | undefined
}

export function tool<Input extends z.ZodType>(definition: BridgeTool<Input>): BridgeTool {
  return definition
}
