import type {
  Clock,
  ContentPart,
  JSONValue,
  LanguageModelV4,
  Message,
  ModelError,
  Usage,
  UserMessage,
} from '@bowline/llm'
import type { AgentErrorData, AgentEvent, EndReason, PendingToolCall, TurnStatus } from '../events/types.ts'
import type { IdSource } from '../ids.ts'
import type { Journal, StoredMessage } from '../journal/journal.ts'
import type { ReaderOptions } from '../run/event-buffer.ts'
import type { AiSdkTool } from '../tools/from-ai-sdk.ts'
import type { OnUnknownOutcome, Tool, ToolReturnValue } from '../tools/tool.ts'

export interface AgentOptions {
  readonly name?: string
  readonly description?: string
  readonly model: LanguageModelV4
  /** The system prompt. */
  readonly instructions?: string
  /** Tools of an array have their own names; in a record the key is the name. */
  readonly tools?: readonly Tool[] | Readonly<Record<string, Tool | AiSdkTool>>
  /** At most so many calls at once in a run. Default 8. */
  readonly toolConcurrency?: number
  readonly limits?: Partial<Limits>
  /** How long calls may take to settle once their signal is aborted. Default 2,000. */
  readonly abortGraceMs?: number
  /** When nobody can say whether a call happened: suspend as `needs-recovery`, or tell the model. Default `stop`. */
  readonly onUnknownOutcome?: OnUnknownOutcome
}

export interface Limits {
  /** Model calls of a turn. Default 32. */
  readonly maxSteps: number
  /** Tool calls of a turn that may run. Default 256. */
  readonly maxToolCalls: number
}

/** A definition. It holds no conversation: one agent may run any number of them at once. */
export interface Agent {
  readonly name?: string
  readonly description?: string
  readonly tools: readonly Tool[]
  /**
   * Starts a turn. `undefined` goes on with the open turn of the journal. Throws `busy`, `invalid-config`,
   * `invalid-input` or `invalid-transcript`; everything else is data in the events and in the result.
   */
  run(input: AgentInput | undefined, options?: RunOptions): AgentRun
}

/** Copied when it is accepted. Several texts or parts make one message. */
export type AgentInput = string | readonly string[] | readonly ContentPart[] | UserMessage | Answers

/** Answers to a suspended turn. Checked as a whole: one that is refused refuses all. */
export interface Answers {
  readonly toolResults: readonly SubmittedResult[]
}

/** `error` is short for an output with `isError`. `unknown` settles a call of which nobody can say whether it happened. */
export type SubmittedResult = { readonly toolCallId: string; readonly path?: readonly string[] } & (
  | { readonly output: ToolReturnValue['output']; readonly details?: JSONValue; readonly isError?: boolean }
  | { readonly error: string }
  | { readonly unknown: true }
)

export interface RunOptions {
  /** Default: a memory journal that begins with `messages`. */
  readonly journal?: Journal
  /** The earlier transcript, when there is no journal. */
  readonly messages?: readonly Message[]
  /** Aborting it stops the run. */
  readonly abortSignal?: AbortSignal
  readonly clock?: Clock
  readonly ids?: IdSource
  /** Handed to tools. */
  readonly context?: JSONValue
  readonly sessionKey?: string
  /** The id of a new turn; an open turn keeps its own. */
  readonly runId?: string
  /** Who gave the input. Default `user`. */
  readonly source?: string
  /** Default: the agent's; a tool's own wins. */
  readonly onUnknownOutcome?: OnUnknownOutcome
}

/** A turn that is under way. Iterating it is reading; leaving the loop stops nothing. */
export interface AgentRun extends AsyncIterable<AgentEvent> {
  /** Of an open turn that is taken up it is empty until the journal has been read, unless it was given. */
  readonly runId: string
  /** One more reader, from the first event on. It ends when the result has settled. */
  events(options?: ReaderOptions): AsyncIterable<AgentEvent>
  /** Must always settle and must never reject. */
  result(): Promise<AgentResult>
  /** Stops the run: it ends as `aborted` within the agent's `abortGraceMs`. */
  abort(reason?: string): void
}

export interface AgentResult {
  readonly runId: string
  readonly status: TurnStatus
  readonly reason: EndReason
  /** Those that this run added to the transcript. */
  readonly messages: readonly StoredMessage[]
  /** Of the last answer. */
  readonly text: string
  readonly pendingToolCalls: readonly PendingToolCall[]
  /** Of the whole turn, earlier segments included. */
  readonly usage: Usage
  readonly steps: number
  readonly error?: ModelError | AgentErrorData
  /** Present when the input was answers that were accepted. */
  readonly submission?: SubmissionReceipt
}

/** Tool call ids. */
export interface SubmissionReceipt {
  readonly accepted: readonly string[]
  /** Answers that were stored before, word for word. */
  readonly repeated: readonly string[]
  /** Calls that are still open. */
  readonly missing: readonly string[]
}
