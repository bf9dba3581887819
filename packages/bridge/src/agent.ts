import type { AgentEvent } from '@bowline/agent-loop'
import type { Cost, JSONObject, JSONValue, RuntimeParams, Usage } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { checkAgent } from './check-agent.ts'

/**
 * Something that answers prompts. `onPrompt` must stop soon after `abortSignal` is aborted; what it had sent by then
 * is kept. An untyped throw is reported as a failed agent, without its text.
 */
export interface BridgeAgent {
  readonly specificationVersion: 'v1'
  /** `id` must be 1–128 characters, begin with a letter or digit and go on with those or `. _ : -`. */
  readonly info: AgentInfo
  readonly capabilities?: readonly string[]
  readonly providers?: readonly AgentProvider[]
  /** A second `onPrompt` with the same session and `requestId` must join the first, also in a fresh process. */
  readonly durable?: boolean
  /** Where a bridge keeps its records of such work, unless it was told another store. */
  readonly stateStore?: StateStore
  /** Awaited before the prompt. When it throws, nothing remains and `onSessionClose` is not called. */
  onSessionCreate?(session: SessionContext): void | Promise<void>
  onPrompt(request: PromptContext): AsyncIterable<BridgeEvent> | Promise<PromptResult> | PromptResult
  /**
   * Answers to a `needs-input` whose stream is still open. Without this hook they wait until the stream ends and come
   * with the next `onPrompt`, as those to a turn that ended with `needs_input` always do.
   */
  onAnswers?(request: AnswersContext): void | Promise<void>
  onCancel?(request: CancelContext): void | Promise<void>
  /** Called once per created session. A throw is logged and changes nothing. */
  onSessionClose?(session: SessionContext, reason: CloseReason): void | Promise<void>
}

export interface AgentInfo {
  readonly id: string
  readonly name?: string
  readonly description?: string
  readonly version?: string
}

export interface AgentProvider {
  readonly id: string
  readonly models: readonly string[]
  readonly kind?: string
  readonly displayName?: string
  readonly description?: string
  readonly capabilities?: readonly string[]
}

export interface SessionContext {
  readonly sessionId: string
  readonly agentId: string
  readonly owner: string
  /** As the caller gave it. */
  readonly metadata: JSONObject
  readonly createdAt: number
  /** Delegations above this one: 0 for work that no agent handed on. */
  readonly depth: number
  /** Ids of the agents above, from the outermost, as far as they are known here. */
  readonly path: readonly string[]
  /** The session whose conversation goes on under this handle; its own id unless it was opened with `resumeSessionId`. */
  readonly conversationId: string
}

export interface PromptContext {
  readonly session: SessionContext
  readonly requestId: string
  /** Empty when there are `answers`. */
  readonly prompt: string
  /** What the turn before waited for. */
  readonly answers?: readonly Answer[]
  /** As the caller gave them, for this prompt only. */
  readonly runtimeParams: RuntimeParams
  readonly abortSignal: AbortSignal
  readonly deadlineAt?: number
}

export interface AnswersContext {
  readonly session: SessionContext
  readonly requestId: string
  readonly answers: readonly Answer[]
}

export interface CancelContext {
  readonly session: SessionContext
  readonly requestId: string
  readonly reason: CancelReason
}

export type CancelReason = 'caller' | 'timeout' | 'closing' | 'shutdown'
export type CloseReason = 'closed' | 'expired' | 'failed' | 'shutdown'

export type BridgeEvent =
  | { readonly type: 'text-delta'; readonly delta: string }
  /** An event of the loop, untouched. */
  | { readonly type: 'agent-event'; readonly event: AgentEvent }
  | { readonly type: 'progress'; readonly message?: string; readonly progress?: number; readonly total?: number }
  /** The agent waits, with its stream open, for `answers` to all of these. */
  | { readonly type: 'needs-input'; readonly pending: readonly PendingInput[] }
  /** The last event that counts. */
  | { readonly type: 'result'; readonly result: PromptResult }

/** `structured`, `usage` and `cost` reach the caller unchanged. `pending` says what a `needs_input` waits for. */
export interface PromptResult {
  readonly text: string
  readonly stopReason: StopReason
  readonly structured?: JSONValue
  readonly usage?: Usage
  readonly cost?: Cost
  readonly pending?: readonly PendingInput[]
}

/** The words of the Agent Client Protocol: they leave the process. */
export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'max_turn_requests'
  | 'refusal'
  | 'cancelled'
  | 'needs_input'
  | 'other'

export interface PendingInput {
  /** The approval id, or the path and the tool call id joined by `/`. */
  readonly id: string
  readonly kind: 'approval' | 'tool'
  readonly toolName: string
  readonly input: JSONValue
  /** Names of the agents from the root to the one that waits; absent at the root. */
  readonly agent?: readonly string[]
}

/** What somebody says to a `PendingInput`. `input` of an approval replaces that of the call. */
export type Answer =
  | { readonly id: string; readonly decision: 'approve' | 'deny'; readonly input?: JSONValue; readonly reason?: string }
  | { readonly id: string; readonly output: JSONValue }
  | { readonly id: string; readonly error: string }

/** Checks an agent and returns it. Throws `CONFIG`. */
export function defineBridgeAgent<T extends BridgeAgent>(agent: T): T {
  checkAgent('defineBridgeAgent.agent', agent)
  return agent
}
