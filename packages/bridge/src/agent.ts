import type { AgentEvent } from '@bowline/agent-loop'
import type { Cost, JSONObject, JSONValue, RuntimeParams, Usage } from '@bowline/llm'
import type { StateStore } from '@bowline/sessions'
import { checkAgent } from './check-agent.ts'

/**
 * An agent that answers prompts. `onPrompt` must stop soon after `abortSignal` is aborted; output sent until then is kept. If
 * `onPrompt` fails with an untyped error, the bridge reports a failed agent without the text of the error.
 */
export interface BridgeAgent {
  readonly specificationVersion: 'v1'
  /** `id` must have 1–128 characters: first a letter or digit, then letters, digits and `. _ : -`. */
  readonly info: AgentInfo
  readonly capabilities?: readonly string[]
  readonly providers?: readonly AgentProvider[]
  /** If true, a second `onPrompt` with the same session and `requestId` must join the first, also in a fresh process. */
  readonly durable?: boolean
  /** Store in which a bridge keeps its records of this agent's work, unless `store` of the bridge is set. */
  readonly stateStore?: StateStore
  /** Awaited before the first prompt. If it throws, the session is not created and `onSessionClose` is not called. */
  onSessionCreate?(session: SessionContext): void | Promise<void>
  onPrompt(request: PromptContext): AsyncIterable<BridgeEvent> | Promise<PromptResult> | PromptResult
  /**
   * Receives answers to a `needs-input` event while its stream is still open. Without this hook, the answers wait until the stream
   * ends and come with the next `onPrompt`. Answers to a turn that ended with `needs_input` always come with the next `onPrompt`.
   */
  onAnswers?(request: AnswersContext): void | Promise<void>
  onCancel?(request: CancelContext): void | Promise<void>
  /** Called once per created session. An error that it throws is logged and has no other effect. */
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
  /** Metadata, unchanged from the caller. */
  readonly metadata: JSONObject
  readonly createdAt: number
  /** Number of delegations above this session; 0 if no agent delegated it. */
  readonly depth: number
  /** Ids of the delegating agents, from the outermost, as far as this process knows them. */
  readonly path: readonly string[]
  /** Session whose conversation this one continues. Its own id unless it was opened with `resumeSessionId`. */
  readonly conversationId: string
}

/** One prompt for an agent. `deadlineAt` is epoch milliseconds. */
export interface PromptContext {
  readonly session: SessionContext
  readonly requestId: string
  /** Empty if `answers` are given. */
  readonly prompt: string
  /** Answers to the questions of the previous turn. */
  readonly answers?: readonly Answer[]
  /** Model parameters of this prompt, unchanged from the caller. */
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
  /** An event of the agent loop, passed on unchanged. */
  | { readonly type: 'agent-event'; readonly event: AgentEvent }
  | { readonly type: 'progress'; readonly message?: string; readonly progress?: number; readonly total?: number }
  /** The agent waits, with its stream open, for `answers` to all of `pending`. */
  | { readonly type: 'needs-input'; readonly pending: readonly PendingInput[] }
  /** The final event; the bridge ignores later ones. */
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

/** Reason of the end of a turn, spelled as in the Agent Client Protocol. */
export type StopReason = 'end_turn' | 'max_tokens' | 'max_turn_requests' | 'refusal' | 'cancelled' | 'needs_input' | 'other'

/** A question that a request waits for: an approval, or the result of a tool. */
export interface PendingInput {
  /** The approval id, or the path and the tool call id joined by `/`. */
  readonly id: string
  readonly kind: 'approval' | 'tool'
  readonly toolName: string
  readonly input: JSONValue
  /** Names of the agents from the root to the waiting one; absent at the root. */
  readonly agent?: readonly string[]
}

/** Answer to a `PendingInput`. For an approval, `input` replaces the input of the call. */
export type Answer =
  | { readonly id: string; readonly decision: 'approve' | 'deny'; readonly input?: JSONValue; readonly reason?: string }
  | { readonly id: string; readonly output: JSONValue }
  | { readonly id: string; readonly error: string }

/** Checks an agent and returns it. Throws `CONFIG`. */
export function defineBridgeAgent<T extends BridgeAgent>(agent: T): T {
  checkAgent('defineBridgeAgent.agent', agent)
  return agent
}
