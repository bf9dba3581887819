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

/** Whether the model may call tools (`auto`, the default), must not (`none`), must call one (`required`), or must call the named one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly toolName: string }

/** Asks for an answer that is JSON, of the given schema if there is one. */
export interface JsonOutput {
  readonly type: 'json'
  readonly schema?: JSONSchema7
  readonly name?: string
  readonly description?: string
}

/** Limits of one call in milliseconds; 0 turns a limit off. */
export interface Timeouts {
  /** Until the first part that is more than a greeting, while the reader waits for it. Default 300,000. */
  readonly firstPartMs?: number
  /** Between two parts after that, while the reader waits. Default 120,000. */
  readonly idleMs?: number
  /** For the whole call. Default: none. */
  readonly totalMs?: number
}

/** The request that the provider's client is given: the prompt after all repairs, tools, settings. It has no headers, because they hold keys. */
export type SentRequest = Omit<LanguageModelV4CallOptions, 'abortSignal' | 'headers'>

/** The model, messages, tools and settings of one model call. `model` and `messages` are required. */
export interface ModelRequest {
  /** A model object of a provider, a name that `models` knows, or what `models.resolve` gave. */
  readonly model: ModelRef | AnyLanguageModel | ResolvedModel
  /** Needed for a model that is given by its name, here or in `runtimeParams`. */
  readonly models?: Models
  /** Must hold at least one message. */
  readonly messages: readonly Message[]
  readonly instructions?: Instructions
  /** Names must be unique. Sent sorted by name, so that the same tools give the same bytes. */
  readonly tools?: readonly (FunctionTool | LanguageModelV4ProviderTool)[]
  readonly toolChoice?: ToolChoice
  readonly output?: JsonOutput
  readonly runtimeParams?: RuntimeParams
  readonly history?: HistoryOptions
  /** For Anthropic only, whose models cache nothing without being told. Default `off`. */
  readonly cache?: CacheMarks
  /** Without it a file is sent by its URL also where the model does not say that it can fetch it. */
  readonly download?: Download
  readonly providerOptions?: ProviderOptions
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly abortSignal?: AbortSignal
  /** Default: the system's clock. */
  readonly clock?: Clock
  readonly timeouts?: Timeouts
  /** Default: `msg_` and a UUID of version 7. */
  readonly messageId?: string
  /** Makes `message.cost`. Wins over the price that the registry of models has. */
  readonly price?: ModelPrice
  readonly telemetry?: TelemetryOptions
  /** Called with what is sent, and awaited, before the provider is. Must not change it. The call fails if it throws or rejects. */
  readonly onRequest?: (request: SentRequest) => void | Promise<void>
}
