import type { ModelInfo } from './model-info.ts'

/** What a vendor's own page said about a model on a day. Data that is not there could not be seen there. */
export interface KnownModel extends ModelInfo {
  /** `provider:model`, by the provider's options key; may end in `*`. */
  readonly match: string
  /** The day of the page or of the copy that was read: YYYY-MM-DD. */
  readonly asOf: string
  readonly source: string
}

export const knownModels: readonly KnownModel[] = []
