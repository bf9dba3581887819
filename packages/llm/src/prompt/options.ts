import type { Message, ProviderOptions } from '../messages.ts'
import type { ModelInfo } from '../model-info.ts'

/** Handling of reasoning by other models, and of aborted or failed answers. */
export interface HistoryOptions {
  /** Reasoning of another model: omitted, or sent as plain text. Default `drop`. */
  readonly foreignReasoning?: 'drop' | 'text'
  /** Aborted answers. Default `keep`: their text and answered calls are sent. */
  readonly aborted?: 'keep' | 'drop'
  /** Answers that ended in an error. Default `drop`, unless they have answered calls. */
  readonly errored?: 'keep' | 'drop'
}

/** The system prompt: one text, or blocks, each with its own options. */
export type Instructions = string | readonly { readonly text: string; readonly providerOptions?: ProviderOptions }[]

/** Files that the model accepts. Only `false` omits a kind; kinds that are not stated are sent. */
export type ModelInput = NonNullable<ModelInfo['input']>

/** The transcript to convert, the model to call, and the handling of parts that this model must not get. */
export interface ToPromptOptions {
  /** The transcript, oldest first. */
  readonly messages: readonly Message[]
  /** The system prompt. */
  readonly instructions?: Instructions
  /** The model to call. Parts of other models lose what only those models understand. */
  readonly model: { readonly provider: string; readonly modelId: string; readonly input?: ModelInput }
  /** Handling of foreign reasoning and of aborted or failed answers. */
  readonly history?: HistoryOptions
}
