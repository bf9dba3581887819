import type { Clock, JSONSchema7, JSONValue, LanguageModelV4ProviderTool, Message, RuntimeParams, ToolOutput } from '@bowline/llm'
import type { IdSource } from '../base/ids.ts'
import type { Diagnostic } from '../base/loaded.ts'
import type { CompactionTrigger } from '../events/message-events.ts'
import type { ApprovalRequest, ToolEffect } from '../events/tool-events.ts'
import type { InJson, RunTypesOf } from '../events/typed-events.ts'
import type { CompactionResult } from './compaction.ts'
import type { Accepted, AgentInput, ApprovalDecision, SessionActions } from './input.ts'
import type { Journal } from './journal.ts'
import type { AgentRun, Budget, Limits } from './run.ts'
import type {
  AiSdkTool,
  CallContext,
  ChildReport,
  InferInput,
  InputSchema,
  OnUnknownOutcome,
  ReconcileContext,
  Reconciled,
  ToolExecution,
  ToolFacts,
  ToolReturnValue,
} from './tool.ts'
import type { SdkInput, SdkOutput } from './tool-output.ts'

/**
 * Decides about the messages of a turn that fails. `keep`: they stay in the transcript. `rewind`: they are withdrawn, the input
 * too, unless a tool that is not `pure` has run.
 */
export type OnFailedTurn = 'keep' | 'rewind'

/** A tool as plain data. If it is given as a remote tool, calling it suspends the run. */
export interface ToolDeclaration {
  /** Name by which the model calls the tool: letters, digits, `_` and `-`, at most 64. */
  readonly name: string
  /** For the model: what the tool does and when to use it. */
  readonly description: string
  /** Schema of the arguments. The loop validates calls by it. */
  readonly inputSchema: JSONSchema7
  /** For people: what a call does. */
  readonly label?: string
  /** Whether a call can be repeated. Default `once`. */
  readonly effect?: ToolEffect
}

/** The tools of an agent. In an array each tool has its own name; in a record the key is the name. */
export type AgentTools = readonly Tool[] | Readonly<Record<string, Tool | AiSdkTool>>

/**
 * An agent, made by `defineAgent`. It holds no conversation, so one agent may run any number of conversations at once. `Tools`
 * types its events and results, `Output` the result's `output`. Every agent is assignable to `Agent`.
 */
export interface Agent<Tools extends AgentTools = AgentTools, Output = unknown> {
  readonly name?: string
  readonly description?: string
  /** All tools: the agent's own, one per subagent, and those of its extensions. */
  readonly tools: readonly Tool[]
  /** Items that are not used because their name is taken, and files that could not be loaded. */
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Starts a turn. `undefined` resumes the open turn of the journal, or begins a turn with inputs that wait there. Throws `busy`,
   * `invalid-config`, `invalid-input` or `invalid-transcript`; every other failure is data in the events and in the result.
   */
  run<Schema extends InputSchema = never>(
    input: AgentInput | undefined,
    options?: RunOptions<Schema>,
  ): AgentRun<RunTypesOf<ToolTypesOf<Tools>, InferOutput<Schema, Output>>>
  /** Compacts the journal's conversation on request of the caller. Throws `busy`. If a turn is open, the outcome is `skipped`. */
  compact(options: CompactOptions): Promise<CompactionResult>
  /**
   * Creates an agent for side work on a journal of its own: same prompt, same tools in the request, but fewer tools that may run.
   */
  spawnChild(options?: SpawnChildOptions): Agent<Tools>
  /** Reads the files of prompt and guardrails again. */
  reload(): Promise<void>
  /** Drops built prompts: those of one channel, or all. */
  invalidatePrompt(channel?: string): void
  fingerprint(): Promise<AgentFingerprint>
}

/** The conversation to compact, and how. Only `journal` is required. */
export interface CompactOptions {
  /** The conversation to compact. */
  readonly journal: Journal
  /** Id of the run in the events of the compaction. Default: a new id. */
  readonly runId?: string
  /** Key of the conversation's session, for extensions. */
  readonly sessionKey?: string
  /** Trigger in the events. Default `manual`; pass another one for a compaction that a journal has postponed. */
  readonly trigger?: CompactionTrigger
  /** Additional instructions for the summary. */
  readonly instructions?: string
  /** Reserves the cost of the summary. If the budget has no room, the agent makes no summary. */
  readonly budget?: Budget
  /** Aborting it cancels the compaction. */
  readonly abortSignal?: AbortSignal
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock
  /** Makes ids. Default: random. */
  readonly ids?: IdSource
}

/** The tools that a side agent may run, and the channel and session in its prompt. */
export interface SpawnChildOptions {
  /** Names of the tools that may run. Default: none. */
  readonly tools?: readonly string[]
  /** Picks the platform section of the prompt. Default: the parent's. */
  readonly channel?: string
  /** Session key in the prompt, if its footer shows one. Default: the parent's. */
  readonly sessionKey?: string
}

/**
 * Model, system prompt and tools of an agent at one time. `hash` covers the model, the tools, and the prompt without its footer and
 * without the output of functions.
 */
export interface AgentFingerprint {
  readonly hash: string
  readonly instructions: string
  readonly model: { readonly provider: string; readonly modelId: string }
  readonly tools: readonly {
    readonly name: string
    readonly description: string
    readonly inputSchema: JSONSchema7
    readonly effect: ToolEffect
  }[]
}

/** The type of the values that a schema accepts, after its transformations; `Otherwise` if there is no schema. */
export type InferOutput<Schema, Otherwise = unknown> = [Schema] extends [never] ? Otherwise : InferInput<Schema>

/**
 * Options of one run: the conversation, settings that replace the agent's, and the callbacks of the caller. All are optional and,
 * except for functions and objects with methods, plain JSON.
 */
export interface RunOptions<Schema extends InputSchema = InputSchema> {
  /** Stores the conversation. Default: a memory journal that begins with `messages`. */
  readonly journal?: Journal
  /** The earlier transcript, if there is no journal. */
  readonly messages?: readonly Message[]
  /**
   * Messages that the model is shown directly above the input, for this turn only. If the run answers a suspended turn, they are
   * shown after the results.
   */
  readonly overlays?: readonly AgentInput[]
  /** Model and its settings. Each field wins over the agent's. */
  readonly runtimeParams?: RuntimeParams
  /** Tools that run outside the process, for example in a browser. */
  readonly remoteTools?: readonly ToolDeclaration[]
  /** The definition that requests carry instead of the current one. The code of the agent's current tools runs. */
  readonly pinned?: AgentFingerprint
  /** Picks the platform section of the prompt, and the entry of the prompt cache. */
  readonly channel?: string
  /** Names the conversation to prompt, tools and hooks. */
  readonly sessionKey?: string
  /** Lets extensions fork the session, switch it to an earlier entry, compact it, and send inputs to other sessions. */
  readonly session?: SessionActions
  /** Origin of the input, as its events name it. Default `user`. */
  readonly source?: string
  /** Passed to tools, hooks and conditions. */
  readonly context?: JSONValue
  /** The id of a new turn; an open turn keeps its own. */
  readonly runId?: string
  /** `synchronized`: the run waits for its first iterator at turn-start, step-start and step-end. Default `live`. */
  readonly mode?: 'live' | 'synchronized'
  /** Decides whether a synchronized run continues when its driver stops iterating, or is aborted. Default `continue`. */
  readonly onBreak?: 'continue' | 'abort'
  /** Time in ms that a synchronized run waits for its driver before it continues live. Default: no limit. */
  readonly driverTimeoutMs?: number
  /** Decides about new input while calls wait for answers: it is refused, or it cancels the calls. Default `refuse`. */
  readonly onInputWhilePending?: 'refuse' | 'cancel'
  /** Decides about calls that may or may not have taken effect. Default: the agent's setting. A tool's own setting wins. */
  readonly onUnknownOutcome?: OnUnknownOutcome
  /** Decides about the messages of a turn that fails. Default: the agent's setting. */
  readonly onFailedTurn?: OnFailedTurn
  /** Limits of the turn. Each field replaces the agent's. */
  readonly limits?: Partial<Limits>
  /** Limits spending. Other runs may share it. */
  readonly budget?: Budget
  /** Schema of the final answer, which is an object. Replaces the agent's. */
  readonly output?: Schema
  /** Number of times that the model may repair an answer that does not fit; it is shown what is wrong. Default: the agent's. */
  readonly outputRepairs?: number
  /** Aborting it stops the run. */
  readonly abortSignal?: AbortSignal
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock
  /** Makes ids of runs and messages. Default: random. */
  readonly ids?: IdSource
  /** Returns a random number from 0 to 1. */
  readonly random?: () => number
  /** Answers an approval request in place. If it resolves with undefined, the run is suspended. */
  readonly onApproval?: (request: ApprovalRequest) => Promise<ApprovalDecision | undefined>
}

/** The call and the run as `execute` sees them, and requests that it can make to the run. `deadlineAt` is epoch milliseconds. */
export interface ToolContext extends CallContext {
  readonly deadlineAt?: number
  /** Names of the agents from the root; empty at the root. */
  readonly agent: readonly string[]
  /** A copy of the transcript so far. */
  readonly messages: readonly Message[]
  /** Sends live text to readers of the run. The text is neither stored nor sent to a model. After the outcome it is dropped. */
  emit(delta: string): void
  /** Shows the model an input at the next `Window` of the turn. */
  steer(input: AgentInput): Promise<Accepted>
  /** As `steer`, but the input is shown in this turn only. */
  overlay(input: AgentInput): Promise<Accepted>
  /** Requests a compaction after the turn. */
  compactAfterTurn(): void
  /** Creates an agent for side work, with the prompt of this agent. */
  spawnChild(options?: SpawnChildOptions): Agent
  /** Writes the events of work that was handed to another agent, and charges its cost. */
  reportChild(report: ChildReport): void
}

/** Defines a tool. With `execute` it runs in this process; without `execute` the caller submits the result. */
export interface ToolOptions<
  Schema extends InputSchema,
  Details extends JSONValue = JSONValue,
  Output = never,
  Name extends string = string,
> extends ToolFacts<Name> {
  /**
   * Schema of the arguments: zod, Standard Schema, the AI SDK's `jsonSchema()` or plain JSON Schema. The loop validates calls by
   * it.
   */
  readonly inputSchema: Schema
  /** Runs the tool. Without it the tool is remote: a call ends the run as `awaiting-tools` until its result is submitted. */
  readonly execute?: (input: InferInput<Schema>, context: ToolContext) => ToolExecution<Details, Output>
  /** Whether the call must be approved before it runs. */
  readonly needsApproval?: boolean | ((input: InferInput<Schema>, context: ToolContext) => boolean | Promise<boolean>)
  /** Called after a crash, before a `once` call counts as unknown. */
  readonly reconcile?: (input: InferInput<Schema>, context: ReconcileContext) => Promise<Reconciled<Details>>
  /** Converts a returned value to the output that the model sees. */
  readonly toModelOutput?: (value: ToolReturnValue<Details>) => ToolOutput
}

/** Made by `Symbol.for`, so that two installed copies of this package recognise each other's tools. */
export declare const toolMarker: unique symbol

/** An agent to which another agent delegates work. */
export interface Subagent {
  readonly name: string
  /** The agent as it was passed in. */
  readonly source: Agent
}

/** Carries the types of a tool. It does not exist at run time. */
declare const typesOfTool: unique symbol

/**
 * A tool as an agent holds it. Made by `defineTool`, or from an AI SDK tool. `Input` is the type of its validated arguments,
 * `Output` the type of the output that the model sees. Every tool is assignable to `Tool`.
 */
export interface Tool<Name extends string = string, Input = unknown, Output = unknown> extends ToolFacts<Name> {
  readonly [toolMarker]: true
  readonly [typesOfTool]?: { readonly input: Input; readonly output: Output }
  readonly inputSchema: InputSchema
  readonly effect: ToolEffect
  readonly sequential: boolean
  readonly timeoutMs: number | null
  readonly maxOutputCharacters: number
  /** Its entry in the request, for a tool that the provider defines and that runs here. */
  readonly declaration?: LanguageModelV4ProviderTool
  readonly execute?: (input: JSONValue, context: ToolContext) => unknown
  /** The subagent to which the tool delegates. Such a tool has no `execute`. */
  readonly subagent?: Subagent
  readonly needsApproval?: boolean | ((input: JSONValue, context: ToolContext) => boolean | Promise<boolean>)
  readonly reconcile?: (input: JSONValue, context: ReconcileContext) => Promise<Reconciled>
  /** May be called again later, and may return a promise. Must depend on nothing but the value and the call. */
  readonly toModelOutput?: (value: ToolReturnValue, call: { readonly toolCallId: string; readonly input: JSONValue }) => unknown
  /** Returns the tool as plain data, which `JSON.stringify` writes: another process may declare it as a remote tool. */
  toJSON(): ToolDeclaration
}

/** The fields without the marker: only `defineTool` and the AI SDK adapter make tools. */
export type ToolFields = Omit<Tool, typeof toolMarker | typeof typesOfTool | 'toJSON'>

// An AI SDK tool has a union type: infer from it as a whole.
type TypesOf<One> = [One] extends [Tool<string, infer Input, infer Output>]
  ? { readonly input: InJson<Input>; readonly output: InJson<Output> }
  : [One] extends [AiSdkTool]
    ? { readonly input: InJson<SdkInput<One>>; readonly output: InJson<SdkOutput<One>> }
    : never

/** Input and output types of tools by name, as the log holds them. */
export type ToolTypesOf<Tools extends AgentTools> = Tools extends readonly (infer One extends Tool)[]
  ? { readonly [Each in One as Each['name']]: TypesOf<Each> }
  : { readonly [Name in keyof Tools & string]: TypesOf<Tools[Name]> }

/**
 * Input and output types of an agent's tools by name, `InferAgentTools<typeof agent>`. `UIMessage` of the AI SDK takes it as its
 * tools. An output longer than the tool's `maxOutputCharacters` is a text.
 */
export type InferAgentTools<Given extends Agent> = Given extends Agent<infer Tools> ? ToolTypesOf<Tools> : never

/** The events of an agent, `InferAgentEvent<typeof agent>`: `toolName` narrows inputs and outputs. */
export type InferAgentEvent<Given extends Agent> = RunTypesOf<InferAgentTools<Given>, unknown>['event']
