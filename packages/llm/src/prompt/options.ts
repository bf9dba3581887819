import type { Message, ProviderOptions } from '../messages.ts'
import type { ModelInfo } from '../model-info.ts'

/** What happens to reasoning of other models, and to answers that were aborted or failed. */
export interface HistoryOptions {
  /** Reasoning of another model: left out, or shown as plain text. Default `drop`. */
  readonly foreignReasoning?: 'drop' | 'text'
  /** Answers that were aborted. Default `keep`: their text and their answered calls. */
  readonly aborted?: 'keep' | 'drop'
  /** Answers that ended in an error. Default `drop`, unless they have answered calls. */
  readonly errored?: 'keep' | 'drop'
}

/** The system prompt: one text, or blocks that may have options of their own. */
export type Instructions = string | readonly { readonly text: string; readonly providerOptions?: ProviderOptions }[]

/** Which files the model takes. Only `false` keeps one back; what is not stated is sent. */
export type ModelInput = NonNullable<ModelInfo['input']>

/** The transcript to convert, the model that will read it, and what to do with parts that this model must not see. */
export interface ToPromptOptions {
  /** The transcript, oldest first. */
  readonly messages: readonly Message[]
  /** The system prompt. */
  readonly instructions?: Instructions
  /** The model that will be called. Parts of other origins lose what only their origin understands. */
  readonly model: { readonly provider: string; readonly modelId: string; readonly input?: ModelInput }
  /** How much of the transcript is kept, and what is done about its faults. */
  readonly history?: HistoryOptions
}
