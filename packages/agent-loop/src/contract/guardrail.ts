import type { JSONValue } from '@bowline/llm'
import type { MaybePromise } from '../base/promises.ts'
import type { ToolEffect, ToolResult } from '../events/tool-events.ts'
import type { OutcomeStatus, TurnStatus } from '../events/turn-events.ts'

/**
 * The result of a guardrail handler. `warn` adds the reason to the output of the call, `block` refuses the call, `halt` ends the
 * turn. Undefined means `allow`.
 */
export type Decision<Action extends string> = { readonly action: Action; readonly reason?: string; readonly code?: string } | undefined

/** The run and the step in which a guardrail is called. */
export interface GuardrailContext {
  readonly runId: string
  readonly turn: number
  readonly step: number
  /** Names of the agents from the root; empty at the root. */
  readonly agent: readonly string[]
  readonly sessionKey?: string
  readonly context?: JSONValue
  readonly abortSignal: AbortSignal
  /** The guardrail's own state: a new object for each turn, and for each later segment of a suspended turn. It is not stored. */
  readonly state: Record<string, unknown>
}

/** A tool call as a guardrail sees it: its validated input and its effect. */
export interface GuardedCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: JSONValue
  readonly effect: ToolEffect
}

/** Checks tool calls before and after they run. Each handler has 5 s; `onError` decides what a failure means. */
export interface Guardrail {
  /** Names the guardrail in errors, warnings and refusals. */
  readonly name: string
  /** Shown to people. */
  readonly description?: string
  /** Result of `beforeCall` if it throws or does not answer within 5 s. Default `block`. */
  readonly onError?: 'block' | 'allow'
  /** Called once per turn, and again with `resumed: true` when a suspended or yielded turn continues. */
  onTurnStart?(context: GuardrailContext & { readonly resumed: boolean }): MaybePromise<void>
  /** Called when the turn ends or is suspended. */
  onTurnEnd?(context: GuardrailContext & { readonly status: TurnStatus }): MaybePromise<void>
  /** Called before a call runs. `warn` adds the reason to its output, `block` refuses it, `halt` ends the turn. */
  beforeCall?(call: GuardedCall, context: GuardrailContext): MaybePromise<Decision<'allow' | 'warn' | 'block' | 'halt'>>
  /** Called after each outcome. `warn` adds the reason to the output, `halt` ends the turn. */
  afterCall?(call: GuardedCall, result: GuardedResult, context: GuardrailContext): MaybePromise<Decision<'allow' | 'warn' | 'halt'>>
}

/** The outcome of a call as a guardrail sees it. */
export interface GuardedResult {
  readonly status: OutcomeStatus
  readonly output: ToolResult['output']
  /** False for a call that was refused or never ran. */
  readonly executed: boolean
  /** Name of the guardrail that blocked the call. */
  readonly refusedBy?: string
}
