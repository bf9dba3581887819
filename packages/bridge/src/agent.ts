import type { AgentEvent } from '@bowline/agent-loop'
import type { Cost, JSONObject, JSONValue, RuntimeParams, Usage } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { checkAgent } from './check-agent.ts'

/**
 * An agent that answers prompts. `onPrompt` must stop soon after `abortSignal` is aborted; output sent until then is kept. An
 * untyped throw is reported as a failed agent, without its text.
 */
export interface BridgeAgent {
  readonly specificationVersion: 'v1'
  /** `id` must be 1–128 characters, begin with a letter or digit and go on with those or `. _ : -`. */
  readonly info: AgentInfo
  readonly capabilities?: readonly string[]
  readonly providers?: readonly AgentProvider[]
  /** A second `onPrompt` with the same session and `requestId` must join the first, also in a fresh process. */
  readonly durable?: boolean
  /** Store in which a bridge keeps its records of this agent's work, unless `store` of the bridge is set. */
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

/** Id and description of an agent. */
export interface AgentInfo {
  readonly id: string
  readonly name?: string
  readonly description?: string
  readonly version?: string
}

/** A model provider of an agent, with the models that a caller may choose. */
export interface AgentProvider {
  readonly id: string
  readonly models: readonly string[]
  readonly kind?: string
  readonly displayName?: string
  readonly description?: string
  readonly capabilities?: readonly string[]
}

/** Session facts that hooks and executors get. `createdAt` is epoch milliseconds. */
export interface SessionContext {
  readonly sessionId: string
  readonly agentId: string
  readonly owner: string
  /** Metadata, as the caller gave it. */
  readonly metadata: JSONObject
  readonly createdAt: number
  /** Delegations above this one: 0 for work that no agent handed on. */
  readonly depth: number
  /** Ids of the agents above, from the outermost, as far as they are known here. */
  readonly path: readonly string[]
  /** The session whose conversation goes on under this handle; its own id unless it was opened with `resumeSessionId`. */
  readonly conversationId: string
}

/** One prompt for an agent. `deadlineAt` is epoch milliseconds. */
export interface PromptContext {
  readonly session: SessionContext
  readonly requestId: string
  /** Empty when there are `answers`. */
  readonly prompt: string
  /** Answers to the questions of the turn before. */
  readonly answers?: readonly Answer[]
  /** Model parameters of this prompt, as the caller gave them. */
  readonly runtimeParams: RuntimeParams
  readonly abortSignal: AbortSignal
  readonly deadlineAt?: number
}

/** Answers to questions of an open prompt. */
export interface AnswersContext {
  readonly session: SessionContext
  readonly requestId: string
  readonly answers: readonly Answer[]
}

/** A cancelled request and the reason of the cancellation. */
export interface CancelContext {
  readonly session: SessionContext
  readonly requestId: string
  readonly reason: CancelReason
}

/** Reason of a cancellation: the caller, a time limit, the close of the session, or the stop of the bridge. */
export type CancelReason = 'caller' | 'timeout' | 'closing' | 'shutdown'
/** Reason of the end of a session: a call of `close`, its TTL, a failure, or the stop of the bridge. */
export type CloseReason = 'closed' | 'expired' | 'failed' | 'shutdown'

/** An event of one prompt. Events after the `result` are ignored. */
export type BridgeEvent =
  | { readonly type: 'text-delta'; readonly delta: string }
  /** An event of the loop, untouched. */
  | { readonly type: 'agent-event'; readonly event: AgentEvent }
  | { readonly type: 'progress'; readonly message?: string; readonly progress?: number; readonly total?: number }
  /** The agent waits, with its stream open, for `answers` to all of these. */
  | { readonly type: 'needs-input'; readonly pending: readonly PendingInput[] }
  /** The last event that counts. */
  | { readonly type: 'result'; readonly result: PromptResult }

/**
 * Final result of a prompt. `structured`, `usage` and `cost` reach the caller unchanged. `pending` lists the questions of a
 * `needs_input`.
 */
export interface PromptResult {
  readonly text: string
  readonly stopReason: StopReason
  readonly structured?: JSONValue
  readonly usage?: Usage
  readonly cost?: Cost
  readonly pending?: readonly PendingInput[]
}

/** Reason of the end of a turn, in the words of the Agent Client Protocol, which callers see. */
export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'max_turn_requests'
  | 'refusal'
  | 'cancelled'
  | 'needs_input'
  | 'other'

/** A question that a request waits for: an approval, or the result of a tool. */
export interface PendingInput {
  /** The approval id, or the path and the tool call id joined by `/`. */
  readonly id: string
  readonly kind: 'approval' | 'tool'
  readonly toolName: string
  readonly input: JSONValue
  /** Names of the agents from the root to the one that waits; absent at the root. */
  readonly agent?: readonly string[]
}

/** Answer to a `PendingInput`. `input` of an approval replaces the input of the call. */
export type Answer =
  | { readonly id: string; readonly decision: 'approve' | 'deny'; readonly input?: JSONValue; readonly reason?: string }
  | { readonly id: string; readonly output: JSONValue }
  | { readonly id: string; readonly error: string }

/** Checks an agent and returns it. Throws `CONFIG`. */
export function defineBridgeAgent<T extends BridgeAgent>(agent: T): T {
  checkAgent('defineBridgeAgent.agent', agent)
  return agent
}
