import type { JSONSchema7, LanguageModelV4CallOptions, LanguageModelV4ProviderTool } from '@ai-sdk/provider'
import type { FlexibleSchema } from 'ai'
import type { Clock } from './clock.ts'
import type { JSONObject, Message, ProviderOptions } from './messages.ts'
import type { AnyLanguageModel } from './models/language-model.ts'
import type { ModelPrice } from './model-info.ts'
import type { ModelRef } from './models/model-ref.ts'
import type { Models } from './models/models.ts'
import type { ResolvedModel } from './models/resolved-model.ts'
import type { RuntimeParams } from './params/runtime-params.ts'
import type { CacheMarks } from './prompt/cache-marks.ts'
import type { Download } from './prompt/downloads.ts'
import type { HistoryOptions, Instructions } from './prompt/options.ts'
import type { TelemetryOptions } from './telemetry/telemetry-options.ts'

/** A tool that the caller runs. For a tool that the provider runs, pass the provider's own object. */
export interface FunctionTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema: FlexibleSchema | JSONSchema7
  readonly strict?: boolean
  readonly inputExamples?: readonly { readonly input: JSONObject }[]
  readonly providerOptions?: ProviderOptions
}

/**
 * Whether the model may call tools (`auto`, the default), must not (`none`), must call some tool (`required`), or must call the
 * named tool.
 */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly toolName: string }

/** Requests an answer in JSON, matching the schema if one is given. */
export interface JsonOutput {
  readonly type: 'json'
  readonly schema?: JSONSchema7
  readonly name?: string
  readonly description?: string
}

/** Time limits of one call in milliseconds; 0 disables a limit. */
export interface Timeouts {
  /** Until the first part after `stream-start`, counted while the reader waits. Default 300,000. */
  readonly firstPartMs?: number
  /** Between two later parts, counted while the reader waits. Default 120,000. */
  readonly idleMs?: number
  /** Limit of the whole call. Default: none. */
  readonly totalMs?: number
}

/**
 * The request as passed to the provider's client: the repaired prompt, tools and settings. It has no headers, because they contain
 * keys.
 */
export type SentRequest = Omit<LanguageModelV4CallOptions, 'abortSignal' | 'headers'>

/** The model, messages, tools and settings of one model call. `model` and `messages` are required. */
export interface ModelRequest {
  /** A model object of a provider, a name known to `models`, or a result of `models.resolve`. */
  readonly model: ModelRef | AnyLanguageModel | ResolvedModel
  /** Registry; required if the model is given by name, here or in `runtimeParams`. */
  readonly models?: Models
  /** At least one message. */
  readonly messages: readonly Message[]
  readonly instructions?: Instructions
  /** Tools with unique names. They are sent sorted by name, so that equal tools give equal bytes. */
  readonly tools?: readonly (FunctionTool | LanguageModelV4ProviderTool)[]
  readonly toolChoice?: ToolChoice
  readonly output?: JsonOutput
  readonly runtimeParams?: RuntimeParams
  readonly history?: HistoryOptions
  /** Cache marks for Anthropic, whose models cache nothing without them. Default `off`. */
  readonly cache?: CacheMarks
  /** Downloads files for the model. Without it, files are sent as URLs, even if the model does not declare that it can fetch them. */
  readonly download?: Download
  readonly providerOptions?: ProviderOptions
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly abortSignal?: AbortSignal
  /** Default: the system clock. */
  readonly clock?: Clock
  readonly timeouts?: Timeouts
  /** Default: `msg_` and a UUID of version 7. */
  readonly messageId?: string
  /** Price for `message.cost`. Overrides the price in the model registry. */
  readonly price?: ModelPrice
  readonly telemetry?: TelemetryOptions
  /** Called and awaited with the request before it is sent. Must not change it. If it throws or rejects, the call fails. */
  readonly onRequest?: (request: SentRequest) => void | Promise<void>
}
