import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import type { BridgeLimits } from '../bridge-contract.ts'
import type { InputIssue } from '../input/issues.ts'
import type { BridgeRedaction } from '../redact.ts'
import type { BridgeView } from './bridge-view.ts'
import type { ProgressSender } from './report-progress.ts'

/** One tool: its name, schemas, hints and function. */
export interface BridgeTool<Input extends z.ZodType = z.ZodType> {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly input: Input
  /** Checks the rules that the schema cannot express. The input may have any shape. */
  issues?(input: object, limits: Pick<BridgeLimits, 'maxTimeoutMs'>): readonly InputIssue[]
  /** Old names that are still accepted, with their replacements. */
  readonly oldNames?: Readonly<Record<string, string>>
  readonly output: z.ZodType
  readonly annotations: ToolHints
  /** Throws a `BridgeError` on failure. */
  run(call: ToolCall, input: z.input<Input>): Promise<object>
}

/** All four hints are required, because an absent `destructiveHint` or `openWorldHint` means true. */
export type ToolHints = Required<Pick<ToolAnnotations, 'readOnlyHint' | 'destructiveHint' | 'idempotentHint' | 'openWorldHint'>>

/** Hints for tools that only read. */
export const looks: ToolHints = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }

/** Hints for tools that give work to an agent, which can have any effect. */
export const givesWork: ToolHints = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }

/** Context of a tool call besides its input. */
export interface ToolCall {
  readonly bridge: BridgeView
  readonly redaction: BridgeRedaction
  /** Aborted if the caller cancels or its connection is lost. It is also aborted after the response, which must be ignored. */
  readonly abortSignal: AbortSignal
  /** Undefined if the caller requested no progress. */
  readonly sendProgress: ProgressSender | undefined
}

export function tool<Input extends z.ZodType>(definition: BridgeTool<Input>): BridgeTool {
  return definition
}
