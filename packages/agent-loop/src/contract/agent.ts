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
 * What happens to the messages of a turn that fails. `keep`: they stay in the transcript. `rewind`: they are withdrawn, the input
 * too, unless a tool that is not `pure` has run.
 */
export type OnFailedTurn = 'keep' | 'rewind'

/** A tool as plain data. As a remote tool, a call of it suspends the run. */
export interface ToolDeclaration {
  /** By which the model calls it: letters, digits, `_` and `-`, 64 at most. */
  readonly name: string
  /** For the model: what the tool does and when to use it. */
  readonly description: string
  /** Schema of the arguments. The loop checks calls by it. */
  readonly inputSchema: JSONSchema7
}

/** The tools of an agent. In an array each tool has its own name; in a record the key is the name. */
export type AgentTools = readonly Tool[] | Readonly<Record<string, Tool | AiSdkTool>>

/**
 * A definition of an agent, made by `defineAgent`. It holds no conversation, so one agent may run any number of them at once.
 * `Tools` types its events and results, `Output` the result's `output`. Every agent is assignable to `Agent`.
 */
export interface Agent<Tools extends AgentTools = AgentTools, Output = unknown> {
  readonly name?: string
  readonly description?: string
  /** All of them: its own, one per subagent, and those of its extensions. */
  readonly tools: readonly Tool[]
  /** Names that lost against others, and files that could not be loaded. */
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Starts a turn. `undefined` goes on with the open turn of the journal, or begins one with inputs that wait there.
   * Throws `busy`, `invalid-config`, `invalid-input` or `invalid-transcript`; everything else is data in the events and
   * in the result.
   */
  run<Schema extends InputSchema = never>(input: AgentInput | undefined, options?: RunOptions<Schema>): AgentRun<RunTypesOf<ToolTypesOf<Tools>, InferOutput<Schema, Output>>>
  /** Compacts the journal's conversation by hand. Throws `busy`; with an open turn the outcome is `skipped`. */
  compact(options: CompactOptions): Promise<CompactionResult>
  /** An agent for side work on a journal of its own: same prompt, same tools in the request, fewer that may run. */
  spawnChild(options?: SpawnChildOptions): Agent<Tools>
  /** Reads files and guardrails again. */
  reload(): Promise<void>
  /** Forgets built prompts: of one channel, or all. */
  invalidatePrompt(channel?: string): void
  fingerprint(): Promise<AgentFingerprint>
}

/** The conversation to compact, and how. Only `journal` is required. */
export interface CompactOptions {
  /** The conversation. */
  readonly journal: Journal
  /** The run that its events name. Default: a new id. */
  readonly runId?: string
  /** The session of the conversation, for extensions. */
  readonly sessionKey?: string
  /** Default `manual`; another one for a compaction that a journal has put off. */
  readonly trigger?: CompactionTrigger
  /** Extra focus of the summary. */
  readonly instructions?: string
  /** Reserves the cost of the summary. If the budget has no room, the agent makes no summary. */
  readonly budget?: Budget
  /** Aborting it cancels the compaction. */
  readonly abortSignal?: AbortSignal
  /** Time and timers. Default: those of the system. */
  readonly clock?: Clock
  /** Makes ids. Default: random. */
  readonly ids?: IdSource
}

/** Decides which tools a side agent may run, and what its prompt says of channel and session. */
export interface SpawnChildOptions {
  /** Names of the tools that may run. Default: none. */
  readonly tools?: readonly string[]
  /** Picks the platform section of the prompt. Default: the parent's. */
  readonly channel?: string
  /** Named in the prompt where its footer says so. Default: the parent's. */
  readonly sessionKey?: string
}

/**
 * Model, system prompt and tools of an agent at one time. `hash` covers model, tools and the prompt without its footer and without
 * the output of functions.
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
  /** Default: a memory journal that begins with `messages`. */
  readonly journal?: Journal
  /** The earlier transcript, when there is no journal. */
  readonly messages?: readonly Message[]
  /** Shown directly above the input, for this turn only; of a turn that is answered, behind its results. */
  readonly overlays?: readonly AgentInput[]
  /** Model and its settings. They win over the agent's, field by field. */
  readonly runtimeParams?: RuntimeParams
  /** Tools that run outside the process, for example in a browser. */
  readonly remoteTools?: readonly ToolDeclaration[]
  /** The definition that the requests carry in the place of today's; the code of the agent's tools runs. */
  readonly pinned?: AgentFingerprint
  /** Picks the platform section, and the entry of the prompt cache. */
  readonly channel?: string
  /** Names the conversation: for prompt, tools and hooks. */
  readonly sessionKey?: string
  /** Lets extensions fork the session, go back in it, compact it, and send to another one. */
  readonly session?: SessionActions
  /** Who gave the input. Default `user`. */
  readonly source?: string
  /** Handed to tools, hooks and conditions. */
  readonly context?: JSONValue
  /** The id of a new turn; an open turn keeps its own. */
  readonly runId?: string
  /** `synchronized`: the run waits for its first iterator at turn-start, step-start and step-end. Default `live`. */
  readonly mode?: 'live' | 'synchronized'
  /** How a synchronized run goes on when its driver leaves it. Default `continue`. */
  readonly onBreak?: 'continue' | 'abort'
  /** How long a synchronized run waits for its driver before it goes on live. Default: for ever. */
  readonly driverTimeoutMs?: number
  /** With calls that wait for answers: new input is refused, or cancels them. Default `refuse`. */
  readonly onInputWhilePending?: 'refuse' | 'cancel'
  /** Default: the agent's; a tool's own wins. */
  readonly onUnknownOutcome?: OnUnknownOutcome
  /** Default: the agent's. */
  readonly onFailedTurn?: OnFailedTurn
  /** Field by field in the place of the agent's. */
  readonly limits?: Partial<Limits>
  /** Shared with other runs. */
  readonly budget?: Budget
  /** Schema of the object that the final answer must be. Replaces that of the agent. */
  readonly output?: Schema
  /** How often an answer that does not fit is shown to the model with what is wrong. Default: the agent's. */
  readonly outputRepairs?: number
  /** Aborting it stops the run. */
  readonly abortSignal?: AbortSignal
  /** Time and timers. Default: those of the system. */
  readonly clock?: Clock
  /** Makes ids of runs and messages. Default: random. */
  readonly ids?: IdSource
  /** 0 to 1. */
  readonly random?: () => number
  /** Answers an approval in place; undefined suspends the run. */
  readonly onApproval?: (request: ApprovalRequest) => Promise<ApprovalDecision | undefined>
}

/** What `execute` knows of its call and of the run, and what it can ask of the run. `deadlineAt` is epoch milliseconds. */
export interface ToolContext extends CallContext {
  readonly deadlineAt?: number
  /** Names of the agents from the root; empty at the root. */
  readonly agent: readonly string[]
  /** The transcript so far, as a copy. */
  readonly messages: readonly Message[]
  /** Live text for readers of the run. It is neither stored nor sent to a model; after the outcome it is dropped. */
  emit(delta: string): void
  /** Shows the model an input at the next window. */
  steer(input: AgentInput): Promise<Accepted>
  /** As `steer`, for this turn only. */
  overlay(input: AgentInput): Promise<Accepted>
  /** Asks for a compaction after the turn. */
  compactAfterTurn(): void
  /** An agent for side work, with the prompt of this one. */
  spawnChild(options?: SpawnChildOptions): Agent
  /** Makes the events of work that was handed to another agent, and books what it cost. */
  reportChild(report: ChildReport): void
}

/** Defines a tool. With `execute` it runs in this process, without `execute` its caller submits the result. */
export interface ToolOptions<Schema extends InputSchema, Details extends JSONValue = JSONValue, Output = never, Name extends string = string> extends ToolFacts<Name> {
  /** Schema of the arguments: zod, Standard Schema, the AI SDK's `jsonSchema()` or plain JSON Schema. The loop checks calls by it. */
  readonly inputSchema: Schema
  /** Without it the tool is remote: a call ends the run as `awaiting-tools` until its result is submitted. */
  readonly execute?: (input: InferInput<Schema>, context: ToolContext) => ToolExecution<Details, Output>
  /** The call must be approved before it runs. */
  readonly needsApproval?: boolean | ((input: InferInput<Schema>, context: ToolContext) => boolean | Promise<boolean>)
  /** Asked after a crash, before a `once` call counts as unknown. */
  readonly reconcile?: (input: InferInput<Schema>, context: ReconcileContext) => Promise<Reconciled<Details>>
  /** Makes the output that the model sees of a returned value. */
  readonly toModelOutput?: (value: ToolReturnValue<Details>) => ToolOutput
}

/** Made by `Symbol.for`, so that two installed copies of this package know each other's tools. */
export declare const toolMarker: unique symbol

/** An agent that another one hands work to. */
export interface Subagent {
  readonly name: string
  /** As it was handed in. */
  readonly source: Agent
}

/** The place of the types of a tool. There is nothing at run time. */
declare const typesOfTool: unique symbol

/**
 * A tool as an agent holds it. Made by `defineTool`, or from an AI SDK tool. `Input` is what its schema lets through,
 * `Output` what the model sees of what it returns; every tool is assignable to `Tool`.
 */
export interface Tool<Name extends string = string, Input = unknown, Output = unknown> extends ToolFacts<Name> {
  readonly [toolMarker]: true
  readonly [typesOfTool]?: { readonly input: Input; readonly output: Output }
  readonly inputSchema: InputSchema
  readonly effect: ToolEffect
  readonly sequential: boolean
  readonly timeoutMs: number | null
  readonly maxOutputCharacters: number
  /** For a tool that its provider defines and that runs here: its entry in the request. */
  readonly declaration?: LanguageModelV4ProviderTool
  readonly execute?: (input: JSONValue, context: ToolContext) => unknown
  /** For a tool that hands work to a subagent; it has no `execute`. */
  readonly subagent?: Subagent
  readonly needsApproval?: boolean | ((input: JSONValue, context: ToolContext) => boolean | Promise<boolean>)
  readonly reconcile?: (input: JSONValue, context: ReconcileContext) => Promise<Reconciled>
  /** May be asked again later, and may give a promise: it must not depend on anything but the value and the call. */
  readonly toModelOutput?: (value: ToolReturnValue, call: { readonly toolCallId: string; readonly input: JSONValue }) => unknown
}

/** The fields without the marker: only `defineTool` and the AI SDK adapter make tools. */
export type ToolFields = Omit<Tool, typeof toolMarker | typeof typesOfTool>

// The type of an AI SDK tool is a union: infer from it as a whole.
type TypesOf<One> = [One] extends [Tool<string, infer Input, infer Output>]
  ? { readonly input: InJson<Input>; readonly output: InJson<Output> }
  : [One] extends [AiSdkTool]
    ? { readonly input: InJson<SdkInput<One>>; readonly output: InJson<SdkOutput<One>> }
    : never

/** Input and output of tools by their names, as the log holds them. */
export type ToolTypesOf<Tools extends AgentTools> = Tools extends readonly (infer One extends Tool)[]
  ? { readonly [Each in One as Each['name']]: TypesOf<Each> }
  : { readonly [Name in keyof Tools & string]: TypesOf<Tools[Name]> }

/**
 * Input and output of the tools of an agent by their names, `InferAgentTools<typeof agent>`: what `UIMessage` of the AI SDK
 * takes as its tools. An output longer than the tool's `maxOutputCharacters` is a text.
 */
export type InferAgentTools<Given extends Agent> = Given extends Agent<infer Tools> ? ToolTypesOf<Tools> : never

/** The events of an agent, `InferAgentEvent<typeof agent>`: `toolName` narrows inputs and outputs. */
export type InferAgentEvent<Given extends Agent> = RunTypesOf<InferAgentTools<Given>, unknown>['event']
