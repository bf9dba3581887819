import type { AssistantMessage, ModelError } from '@bowline/llm'
import type { ModelName, RunEventBase, StepEventBase } from './event-base.ts'

export interface MessageStartEvent extends StepEventBase {
  readonly type: 'message-start'
  readonly messageId: string
  readonly attempt: number
  readonly model: ModelName
}

export interface MessageEndEvent extends StepEventBase {
  readonly type: 'message-end'
  readonly messageId: string
  readonly message: AssistantMessage
  readonly attempt: number
}

/** The message is withdrawn: readers drop it, and nothing will ever follow under its id. */
export interface MessageDiscardedEvent extends RunEventBase {
  readonly type: 'message-discarded'
  /** Absent for a message that was withdrawn before the first step. */
  readonly step?: number
  readonly messageId: string
  readonly reason: DiscardReason
  readonly attempt?: number
}

/** `replaced`: a user message that a hook changed or handled. `failed`: withdrawn with the turn that failed. */
export type DiscardReason = 'retry' | 'overflow' | 'rewind' | 'failed' | 'crash' | 'replaced'

/** Comes before its wait, and has exactly one `retry-end`. */
export interface RetryStartEvent extends StepEventBase {
  readonly type: 'retry-start'
  /** The attempt that it announces: 2, 3 … */
  readonly attempt: number
  readonly maxAttempts: number
  readonly delayMs: number
  /** Epoch milliseconds at which the wait ends. */
  readonly notBefore: number
  readonly cause: 'error' | 'overflow' | 'fallback'
  /** Of a fallback: the model that takes the step. */
  readonly model?: ModelName
  readonly error: ModelError
}

export interface RetryEndEvent extends StepEventBase {
  readonly type: 'retry-end'
  readonly attempt: number
  readonly success: boolean
  readonly error?: ModelError
}
