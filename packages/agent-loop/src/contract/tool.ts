import type { ContentItem, Cost, FunctionTool, JSONObject, JSONValue, ModelError, ProviderOptions, Usage } from '@bowline/llm'
import type { ChildUpdateEvent, ToolEffect } from '../events/tool-events.ts'
import type { AgentErrorData, TurnStatus } from '../events/turn-events.ts'

/** A schema of tool arguments or output: zod, Standard Schema, the AI SDK's `jsonSchema()`, or plain JSON Schema. */
export type InputSchema = FunctionTool['inputSchema']

/** The type of the values that a schema accepts, after its transformations. */
export type InferInput<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : never
  : Schema extends { readonly _type: infer Value }
    ? Value
    : Schema extends () => infer Lazy
      ? InferInput<Lazy>
      : JSONObject

/**
 * A value that a tool may return. Nothing counts as `'done'`; a string is a text; `ToolReturnValue` has more than the output;
 * content, or a list of content parts, goes to the model as content; every other JSON value is the output itself.
 *
 * An object counts as `ToolReturnValue` if it has the key `output` and no key but `output`, `details`, `isError` and `terminate`:
 * `{ output: 1 }` is the output 1, `{ output: 1, exitCode: 0 }` is JSON and goes to the model whole.
 *
 * A value that is not JSON (a function, bigint, `NaN`, `Date`, `Map`, class instance, or object that contains itself) fails the
 * call before its outcome is stored: `the tool has run, but its output cannot be used: /user/born is not a JSON value (Date)`. Keys
 * whose value is `undefined` are left out. `Output` is the type of a value that is JSON although the compiler cannot see it, like
 * an interface.
 */
export type ToolReturn<Details extends JSONValue = JSONValue, Output = never> =
  | void
  | JSONValue
  | ToolContent
  | readonly ContentItem[]
  | ToolReturnValue<Details>
  | (Output & IfJson<Output>)

/** Text and files as the output of a tool, for the model. */
export interface ToolContent {
  readonly type: 'content'
  readonly value: readonly ContentItem[]
}

/** The same type, with `NotJson` in place of each part that JSON cannot hold. */
export type JsonOf<Value> = Value extends JSONValue | undefined
  ? Value
  : Value extends ((...parameters: never) => unknown) | { toJSON(): unknown }
    ? NotJson
    : Value extends object
      ? { [Key in keyof Value]: JsonOf<Value[Key]> }
      : NotJson

// Not `JsonOf` itself: it would make the compiler infer literals from what a tool returns.
type IfJson<Value> = Value extends JsonOf<Value> ? unknown : JsonOf<Value>

/** A type that nothing is assignable to. The compiler names it if a tool returns a value that is not JSON. */
export interface NotJson {
  readonly notJson: unique symbol
}

/** The result of a tool with more than its output: details for the UI, an error mark, the request to end the turn. */
export interface ToolReturnValue<Details extends JSONValue = JSONValue> {
  /**
   * Output for the model: JSON or content; undefined counts as `'done'`. With a `toModelOutput`, its result must be JSON instead.
   */
  readonly output: JSONValue | ToolContent | readonly ContentItem[]
  /** For the UI: stored with the result and never sent to a model. */
  readonly details?: Details
  readonly isError?: boolean
  /** Ends the turn after this answer, if every call of the answer says so. */
  readonly terminate?: boolean
}

/** A value that a tool's generator yields. A string is a delta. `complete` gives the output and ends the call. */
export type ToolChunk<Details extends JSONValue = JSONValue> =
  | string
  | { readonly type: 'delta'; readonly delta: string; readonly replace?: true }
  | ({ readonly type: 'complete' } & ToolReturnValue<Details>)

/** The call and its place in the run. `turn`, `step` and `attempt` count from 1. */
export interface CallContext {
  readonly toolCallId: string
  readonly toolName: string
  /** The same for every attempt of one call, different for any two calls. */
  readonly idempotencyKey: string
  readonly attempt: number
  readonly runId: string
  readonly turn: number
  readonly step: number
  readonly sessionKey?: string
  readonly context?: JSONValue
  /** Aborted if the run is stopped or the call is out of time. The call then has the run's `abortGraceMs` to settle. */
  readonly abortSignal: AbortSignal
}

/**
 * Reports on work that runs elsewhere, named by its `childRunId`. If the call runs again after a crash, the loop drops the reports that
 * the log already has.
 */
export type ChildReport =
  | { readonly kind: 'start'; readonly childRunId: string; readonly subagent: string; readonly description?: string }
  | {
      readonly kind: 'update'
      readonly childRunId: string
      /** The child's own count. The loop drops an update whose step is below the last one, or equal to it with the same status. */
      readonly step: number
      readonly status?: ChildUpdateEvent['status']
      readonly text?: string
      readonly toolNames?: readonly string[]
    }
  | {
      readonly kind: 'end'
      readonly childRunId: string
      readonly status: TurnStatus
      readonly usage?: Usage
      readonly cost?: Cost
      readonly error?: ModelError | AgentErrorData
    }

/** The call that a crash interrupted, as `reconcile` sees it. `attempt` and `idempotencyKey` are those of that call. */
export type ReconcileContext = CallContext

/** Whether a call that was started before a crash took effect. `result` is what `execute` would have returned. */
export type Reconciled<Details extends JSONValue = JSONValue> =
  | { readonly happened: true; readonly result?: ToolReturn<Details> }
  | { readonly happened: false }
  | { readonly happened: 'unknown' }

/**
 * The return value of `execute`: a value, a promise, or a generator. If a generator returns nothing, the output is its `complete`
 * chunk, or else all its deltas.
 */
export type ToolExecution<Details extends JSONValue = JSONValue, Output = never> =
  | ToolReturn<Details, Output>
  | Promise<ToolReturn<Details, Output>>
  | AsyncGenerator<ToolChunk<Details>, ToolReturn<Details, Output>>

/**
 * Decides what happens if it is unknown whether a call took effect. `stop`: the run is suspended as `needs-recovery` until the
 * caller submits the outcome. `tell-model`: the model is told and the turn continues.
 */
export type OnUnknownOutcome = 'stop' | 'tell-model'

export interface ToolFacts<Name extends string = string> {
  /** Name by which the model calls the tool: letters, digits, `_` and `-`, at most 64. */
  readonly name: Name
  /** Name for people. */
  readonly label?: string
  /** For the model: what the tool does and when to use it. */
  readonly description: string
  /**
   * Effect of running a call twice. `pure`: none; `idempotent`: none under one idempotency key; `once`: it must never run twice.
   * Default `once`.
   */
  readonly effect?: ToolEffect
  /** Decides about a call that may or may not have taken effect. Default: the setting of the run. */
  readonly onUnknownOutcome?: OnUnknownOutcome
  /** Time limit of a call in ms. Default 120,000 for a tool with `execute`, none without it; null: no limit. */
  readonly timeoutMs?: number | null
  /** True: the call starts after all earlier calls of the answer have ended, and later calls start after it. Default false. */
  readonly sequential?: boolean
  /** Maximum number of calls of this tool at once in a run. */
  readonly concurrency?: number
  /** Longer output is cut to head and tail. Default 50,000. */
  readonly maxOutputCharacters?: number
  /** Time in ms to decide an approval; after it the call counts as denied. Default null: no limit. */
  readonly approvalTimeoutMs?: number | null
  /**
   * True: if description, schema, effect or `needsApproval` of the tool have changed between the question and the call, an approved
   * call needs a new approval. A function counts as changed if its source text has changed. Default false: the call runs as it was
   * approved.
   */
  readonly recheck?: boolean
  /** Asks the provider to enforce the schema. */
  readonly strict?: boolean
  /** Examples that the model is shown. */
  readonly inputExamples?: readonly { readonly input: JSONObject }[]
  /** Sent with the tool's declaration. */
  readonly providerOptions?: ProviderOptions
}

/**
 * A tool made by `tool()` or `dynamicTool()` of the AI SDK, or one of a provider's own tools. Its name is given separately. A
 * `description` that is a function is called once, with `context: undefined`. The hooks `onInputStart`, `onInputDelta` and
 * `onInputAvailable` are not called; `outputSchema`, `contextSchema`, `metadata` and `deferLoading` are not read. In its options,
 * `context` is the run's.
 */
export interface AiSdkTool {
  readonly type?: 'function' | 'dynamic' | 'provider' | undefined
  readonly title?: string | undefined
  readonly description?: unknown
  readonly inputSchema: unknown
  readonly strict?: boolean | undefined
  readonly inputExamples?: unknown
  readonly providerOptions?: unknown
  readonly needsApproval?: boolean | ((input: never, options: never) => unknown) | undefined
  readonly execute?: ((input: never, options: never) => unknown) | undefined
  readonly toModelOutput?: ((options: never) => unknown) | undefined
  /** Id of a provider's own tool. */
  readonly id?: string | undefined
  readonly args?: object | undefined
  readonly isProviderExecuted?: boolean | undefined
}
