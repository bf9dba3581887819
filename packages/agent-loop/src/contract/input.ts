import type { ContentPart, ImagePart, JSONObject, JSONValue, UserMessage } from '@bowline/llm'
import type { PendingToolCall } from '../events/tool-events.ts'
import type { ToolReturnValue } from './tool.ts'

/**
 * Input of a run: a text, content parts, a user message, or answers to a suspended turn. The run copies it. Several texts or parts
 * make one message.
 */
export type AgentInput =
  | string
  | readonly string[]
  | readonly InputPart[]
  | (Omit<UserMessage, 'content'> & InputContent)
  | { readonly type: 'user-text'; readonly text: string | readonly string[] }
  | ({ readonly type: 'user-message' } & InputContent)
  | Answers

/** A part of an input. An image is stored as a file. */
export type InputPart = ContentPart | ImagePart

interface InputContent {
  readonly content: string | readonly InputPart[]
}

/** Answers to a suspended turn. They are checked together before anything is stored: if one is refused, all are. */
export interface Answers {
  readonly toolResults?: readonly SubmittedResult[]
  readonly approvals?: readonly ApprovalDecision[]
}

/**
 * The result of one pending call. `error` is short for an output with `isError`. `unknown` settles a call whose outcome cannot be
 * found out. A pending call may be sent back with its answer, `{ ...pendingCall, output }`; its own fields must then be unchanged.
 */
export type SubmittedResult = { readonly toolCallId: string; readonly path?: readonly string[] } & (
  | (SaidOfCall & { readonly output: ToolReturnValue['output']; readonly details?: JSONValue; readonly isError?: boolean })
  | (SaidOfCall & { readonly error: string })
  | { readonly unknown: true }
)

type SaidOfCall = Partial<Pick<PendingToolCall, 'toolName' | 'input' | 'deadlineAt' | 'agent' | 'background' | 'unknown'>>

/** Answers one approval request. The same decision may be sent again; a different one is refused as `approval-conflict`. */
export interface ApprovalDecision {
  readonly approvalId: string
  readonly decision: 'approve' | 'deny'
  /** If present, it must equal the hash in the request. */
  readonly inputHash?: string
  readonly reason?: string
  /** The edited input, only for an approval. It is validated by the tool's schema. */
  readonly input?: JSONValue
  /** Person or system that decided. */
  readonly by?: string
}

/**
 * Whether an input was accepted. `inputId` names it in `runtime-input` events. `queue-full`: the run already holds
 * `limits.maxQueuedInputs` inputs.
 */
export type Accepted = { readonly ok: true; readonly inputId: string } | { readonly ok: false; readonly reason: 'run-ended' | 'queue-full' }

/**
 * Changes the session of a run. Each action begins when the run is at rest: a hook that awaits one waits for itself. Actions are
 * not durable: if the process dies first, the action is lost. Rejects if another run owns the session by then. The host is notified
 * of every failure.
 */
export interface SessionActions {
  /** Copies the conversation up to an entry, by default its end, into a new session. */
  fork(options?: { readonly entryId?: string; readonly key?: string; readonly metadata?: JSONObject }): Promise<{ readonly key: string }>
  /**
   * Continues the conversation after an earlier entry; null: from its beginning. `summarize` adds a summary of the messages that
   * are left out.
   */
  switchTo(entryId: string | null, options?: { readonly summarize?: boolean; readonly instructions?: string }): Promise<void>
  compact(options?: { readonly instructions?: string }): Promise<void>
  /** Sends an input to another session of the same agent and owner. Creates the session if it does not exist. */
  send(key: string, input: AgentInput): Promise<{ readonly runId: string }>
}
